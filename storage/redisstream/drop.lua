#!lua flags=allow-oom
-- drop: removes a subscription's state with its backlog; the last thing of a closed topic empties the slot.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB  23 …:report:SUB  24 …:history:SUB  25 …:taken
-- ARGV  1 now or ''  2 ''  3 wake channel  4 subscription uid
-- gives {0}
--
-- A script, since what the log still needs changes with it.
if redis.call('EXISTS', KEYS[5]) == 0 then
  return {OK}
end
local meta = redis.call('HMGET', META, 'v', 'closed')
if meta[1] and meta[1] ~= FORMAT then
  return {UNKNOWN, META, meta[1]}
end
redis.call('UNLINK', unpack(KEYS, 5, #KEYS - 1))
redis.call('HDEL', SUBS, ARGV[4])
redis.call('ZREM', FLOORS, ARGV[4])
retain('retain:' .. ARGV[4], 0)
announce('r ' .. ARGV[4])
if meta[2] and redis.call('ZCARD', FLOORS) == 0 then
  empty(KEYS[#KEYS])
else
  trim(true)
end
return {OK}
