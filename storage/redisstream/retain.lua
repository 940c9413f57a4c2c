-- Retaining: how long the log keeps messages that nobody has unacked, for seeks. meta has the topic's own time in retention,
-- that of a subscription which retains what it acked in retain:UID, and the longest of all in retained.

-- retain sets one of them; 0 is none. It tells whether that has changed.
local function retain(field, ms)
  local meta = redis.call('HMGET', META, field, 'n')
  if not meta[2] or tonumber(meta[1] or 0) == ms then
    return false
  end
  if ms > 0 then
    redis.call('HSET', META, field, string.format('%.0f', ms))
  else
    redis.call('HDEL', META, field)
  end
  local longest, all = 0, redis.call('HGETALL', META)
  for i = 1, #all, 2 do
    if all[i] == 'retention' or string.sub(all[i], 1, 7) == 'retain:' then
      longest = math.max(longest, tonumber(all[i + 1]))
    end
  end
  if longest > 0 then
    redis.call('HSET', META, 'retained', string.format('%.0f', longest))
  else
    redis.call('HDEL', META, 'retained')
  end
  return true
end
