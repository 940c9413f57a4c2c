#!lua flags=allow-oom
-- keep_breaker: keeps an open circuit breaker.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
--       5 ms it has been open  6 ms until the next probe  7 failed probes  8 endpoint
-- gives {0, 1 if it is kept, 0 if it was closed meanwhile}
--
-- A script, since what somebody closed by hand must not be opened again by who did not know.
save()
if ARGV[7] ~= '0' and redis.call('HEXISTS', STATE, 'breaker') == 0 then
  return {OK, 0}
end
local opened = now - tonumber(ARGV[5])
if ARGV[7] ~= '0' then
  local since, endpoint = string.match(redis.call('HGET', STATE, 'breaker'), '^(%d+) %d+ %d+ (.*)$')
  opened = endpoint == ARGV[8] and tonumber(since) or opened
end
redis.call('HSET', STATE, 'breaker', string.format('%.0f %.0f %s %s', opened, now + tonumber(ARGV[6]), ARGV[7], ARGV[8]))
return {OK, 1}
