#!lua flags=allow-oom
-- drop_snapshot: removes a snapshot; the last thing of a closed topic empties the slot.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:snapshot:SNAP  6 …:held:SNAP  7 …:left:SNAP  8 …:leftat:SNAP  9 …:heldat:SNAP  10 …:heldletters:SNAP
--       11 …:snapshots  12 …:taken
-- ARGV  1 now or ''  2 ''  3 wake channel  4 snapshot uid
-- gives {0}
--
-- A script, since what the log still needs changes with it.
local meta = redis.call('HMGET', META, 'v', 'closed')
if meta[1] and meta[1] ~= FORMAT then
  return {UNKNOWN, META, meta[1]}
end
redis.call('HDEL', KEYS[11], ARGV[4])
local held = redis.call('ZREM', FLOORS, ARGV[4]) == 1
redis.call('UNLINK', unpack(KEYS, 5, 10))
if held and meta[2] and redis.call('ZCARD', FLOORS) == 0 then
  empty(KEYS[12])
elseif held then
  trim(true)
end
return {OK}
