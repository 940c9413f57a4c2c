#!lua flags=allow-oom
-- drop: removes a subscription's state with its backlog; the last one of a closed topic empties the slot.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:due:SUB  7 …:out:SUB  8 …:deliveries:SUB  9 …:dead:SUB  10 …:taken
-- ARGV  1 now or ''  2 ''  3 wake channel  4 subscription uid
-- gives {0}
--
-- A script, since what the log still needs changes with it.
if redis.call('EXISTS', KEYS[5]) == 0 then
  return {OK}
end
redis.call('UNLINK', KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9])
redis.call('HDEL', SUBS, ARGV[4])
redis.call('ZREM', FLOORS, ARGV[4])
announce('r ' .. ARGV[4])
if redis.call('HEXISTS', META, 'closed') == 1 and redis.call('HLEN', SUBS) == 0 then
  empty(KEYS[10])
else
  trim(true)
end
return {OK}
