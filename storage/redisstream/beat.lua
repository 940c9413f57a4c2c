#!lua flags=allow-oom
-- beat: counts a server among the living, and tells it who else lives and which records changed.
--
-- KEYS  1 postrider:{fleet}:servers  2 postrider:{fleet}:changes
-- ARGV  1 now or ''  2 server  3 ms it lives on  4 position, or ''  5 a random number
-- gives {0, 1 if changes may be missing, position, how many live, the living…, the changed names…}
--
-- A script, to be one round trip a second, and so that no change falls between the look and the position.
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], 'NX', now, ARGV[2]) -- who asks lives, however short its time
local living = redis.call('ZRANGE', KEYS[1], 0, -1)

-- A position is the id of an entry. While that is there, so is all that came after it; when it is not, it was trimmed, or
-- the stream is another one. So the stream never stays without an entry.
local newest = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
local position = newest and newest[1] or redis.call('XADD', KEYS[2], first_id(ARGV[5]), 'n', '')
local lost = ARGV[4] == '' or #redis.call('XRANGE', KEYS[2], ARGV[4], ARGV[4]) == 0
local reply = {0, lost and 1 or 0, position, #living, unpack(living)}
if not lost then
  local page = redis.call('XRANGE', KEYS[2], '(' .. ARGV[4], '+', 'COUNT', 1000)
  for _, entry in ipairs(page) do
    reply[#reply + 1] = entry[2][2]
    reply[3] = entry[1]
  end
end
return reply
