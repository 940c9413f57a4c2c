#!lua flags=allow-oom
-- cancel_delayed: drops messages that are not due yet.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors  5 …:delayed  6 …:delays
-- ARGV  1 now or ''  2 ''  3 wake channel  then padded ids, at most 200
-- gives {0, then the places, from 0, of those that it dropped}
--
-- A script, since what becomes due meanwhile must be either dropped or delivered.
local meta = redis.call('HMGET', META, 'v', 'closed', 'delaybytes')
if not meta[1] or meta[2] then
  return {GONE}
end
if meta[1] ~= FORMAT then
  return {UNKNOWN, META, meta[1]}
end
local reply, bytes = {OK}, tonumber(meta[3] or 0)
for i = 4, #ARGV do
  local at = redis.call('ZSCORE', delayed.due, ARGV[i])
  if at and tonumber(at) > now then
    local stored = redis.call('HGET', delayed.messages, ARGV[i])
    redis.call('ZREM', delayed.due, ARGV[i])
    redis.call('HDEL', delayed.messages, ARGV[i])
    bytes = bytes - (stored and tonumber(string.sub(stored, 18, 25), 16) or 0)
    reply[#reply + 1] = i - 4
  end
end
if #reply > 1 then
  redis.call('HSET', META, 'delaybytes', bytes)
  delayed.note_due()
end
return reply
