#!lua flags=allow-oom
-- report_push: keeps what the owner says of its pushes, and tells who asked.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB  23 …:report:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5 JSON  6 ms to keep it
-- gives {0}
--
-- A script, since nothing must be kept of a subscription that has gone, and its age counts by Redis's clock.
save()
redis.call('SET', KEYS[23], string.format('%s %.0f %.0f ', FORMAT, now, now + tonumber(ARGV[6])) .. ARGV[5], 'PX', ARGV[6])
announce('s ' .. SUB)
return {OK}
