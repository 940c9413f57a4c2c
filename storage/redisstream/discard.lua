#!lua flags=allow-oom
-- discard: removes messages that a topic without subscriptions and snapshots keeps.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
-- ARGV  1 now or ''  2 ''  3 wake channel  4… ids
-- gives {0, then of each: 1 it was taken now  2 it is not there  3 somebody may need it}
--
-- A script, since a subscription that is attached meanwhile must find a log without holes.
local meta = redis.call('HGET', META, 'v')
if not meta then
  return {GONE}
end
if meta ~= FORMAT then
  return {UNKNOWN, META, meta}
end
local TAKEN_, GONE_, LEFT_ = 1, 2, 3
local needed, reply = redis.call('ZCARD', FLOORS) > 0, {OK}
for i = 4, #ARGV do
  reply[#reply + 1] = needed and LEFT_ or redis.call('XDEL', LOG, ARGV[i]) == 1 and TAKEN_ or GONE_
end
return reply
