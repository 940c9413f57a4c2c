#!lua flags=no-writes,allow-oom
-- transfer_subscription: a subscription's state, without its outstanding messages.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB
-- ARGV  1 subscription uid
-- gives {0, name or '', floor or '', then the state's fields and values}
--
-- A script, since the parts belong to one moment.
local state = redis.call('HGETALL', KEYS[5])
if #state == 0 then
  return {2}
end
return {0, redis.call('HGET', KEYS[3], ARGV[1]) or '', redis.call('ZSCORE', KEYS[4], ARGV[1]) or '', unpack(state)}
