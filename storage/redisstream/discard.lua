#!lua flags=allow-oom
-- discard: removes messages that a topic without subscriptions and snapshots keeps.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
-- ARGV  1 now or ''  2 ''  3 wake channel  4… ids
-- gives {0, 1 if it did; 0 if somebody may need them}
--
-- A script, since a subscription that is attached meanwhile must find a log without holes.
local meta = redis.call('HGET', META, 'v')
if not meta then
  return {GONE}
end
if meta ~= FORMAT then
  return {UNKNOWN, META, meta}
end
if redis.call('ZCARD', FLOORS) > 0 then
  return {OK, 0}
end
if #ARGV > 3 then
  redis.call('XDEL', LOG, unpack(ARGV, 4))
end
return {OK, 1}
