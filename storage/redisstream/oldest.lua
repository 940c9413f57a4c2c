-- eldest is the first of a set that was not redriven. Behind very many that were it is not looked for.
local function eldest(key)
  if key == SOURCE and (state.red == 0 or state.purge ~= '') then
    return (in_source())
  end
  local members, ids = redis.call('ZRANGE', key, 0, math.min(state.red, 1000)), {}
  if state.red == 0 or #members == 0 then
    return members[1]
  end
  for i, member in ipairs(members) do
    ids[i] = letters.bare(member)
  end
  for i, at in ipairs(redis.call('ZMSCORE', letters.at, unpack(ids))) do
    if not at then
      return members[i]
    end
  end
end

-- oldest_age is the ms since the oldest message that is not acked was published, or redriven; -1 without one.
local function oldest_age()
  local age = -1
  for _, key in ipairs({OUT, SOURCE}) do
    local member = eldest(key)
    age = math.max(age, member and now - ms_of(member) or -1)
  end
  if state.over > 0 then
    local left = redis.call('HGET', OVERFLOW, redis.call('ZRANGE', OVERFLOWED, 0, 0)[1])
    age = math.max(age, now - tonumber(string.match(left, '^%d+:%d+:(%d+)')))
  end
  if age < 0 then
    local entry = redis.call('XRANGE', LOG, '(' .. state.id, '+', 'COUNT', 1)[1]
    age = entry and now - tonumber(string.match(entry[1], '^%d+')) or -1
  end
  local redriven = state.red > 0 and head_of(letters.at)
  return math.max(age, redriven and math.max(0, now - redriven) or -1)
end
