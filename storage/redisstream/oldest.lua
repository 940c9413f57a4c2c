-- oldest_age is the ms since the oldest message that is not acked was published; -1 without one.
local function oldest_age()
  local age = -1
  for _, member in ipairs({redis.call('ZRANGE', OUT, 0, 0)[1] or in_source(), (in_source())}) do
    age = math.max(age, now - ms_of(member))
  end
  if state.over > 0 then
    local left = redis.call('HGET', OVERFLOW, redis.call('ZRANGE', OVERFLOWED, 0, 0)[1])
    age = math.max(age, now - tonumber(string.match(left, '^%d+:%d+:(%d+)')))
  end
  if age < 0 then
    local entry = redis.call('XRANGE', LOG, '(' .. state.id, '+', 'COUNT', 1)[1]
    age = entry and now - tonumber(string.match(entry[1], '^%d+')) or -1
  end
  return age
end
