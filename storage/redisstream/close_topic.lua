#!lua flags=allow-oom
-- close_topic: lets nothing more be published or attached, and drops what is delayed. Without subscriptions and snapshots the slot is emptied.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors  5 …:taken  6 …:delayed  7 …:delays
-- ARGV  1 now or ''  2 ''  3 wake channel
-- gives {0}
--
-- A script, since nothing may be attached between the look and the emptying.
local meta = redis.call('HMGET', META, 'v', 'closed')
if not meta[1] or meta[2] then
  return {OK}
end
if meta[1] ~= FORMAT then
  return {UNKNOWN, META, meta[1]}
end
local attached = redis.call('HKEYS', SUBS)
redis.call('HSET', META, 'closed', 1)
redis.call('UNLINK', KEYS[6], KEYS[7])
redis.call('HDEL', META, 'due', 'delaybytes')
retain('retention', 0)
for _, sub in ipairs(attached) do
  announce('r ' .. sub)
end
if redis.call('ZCARD', FLOORS) == 0 then
  empty(KEYS[5])
else
  trim(true)
end
return {OK}
