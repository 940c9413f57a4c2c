-- refill fills the queue of the hungry key that has waited longest, from what it left in the log. It tells whether there
-- was one. largest is the size of the largest message.
local function refill(largest)
  local key = state.over > 0 and redis.call('ZRANGE', HUNGRY, 0, 0)[1]
  if not key then
    return false
  end
  local o, room = overflow_of(key), bound - redis.call('ZCARD', OUT)
  local most = math.min(MESSAGES_MAX, math.max(1, math.floor(BYTES_MAX / largest)))
  local first, filled, at = nil, 0, nil

  local function take_back(entry, n, size)
    spill(key, -1, -size)
    local member = member_of(entry[1])
    if ms_of(member) < cutoff then
      count('dropped', 1)
      return
    end
    enqueue(key, member)
    member = member .. ':' .. key
    redis.call('ZADD', OUT, n, member)
    set('bytes', state.bytes + size)
    filled, first = filled + 1, first or member
  end

  for _, entry in ipairs(redis.call('XRANGE', LOG, '(' .. o.after, state.id, 'COUNT', most)) do
    if filled == REFILL_MAX or filled >= room then
      break
    end
    local n, size = read(entry)
    o.after, at, spilled[key] = entry[1], n, true
    if key_in(entry) == key then
      take_back(entry, n, size)
    end
  end
  if first then
    promote(first)
    redis.call('ZREM', HUNGRY, key)
  end
  if o.count == 0 or #redis.call('XRANGE', LOG, '(' .. o.after, state.id, 'COUNT', 1) == 0 then
    count('lost', o.count)
    spill(key, -o.count, -o.bytes)
    redis.call('HDEL', OVERFLOW, key)
    redis.call('ZREM', OVERFLOWED, key)
    redis.call('ZREM', HUNGRY, key)
    overflows[key], spilled[key] = false, nil
  elseif at then
    redis.call('ZADD', OVERFLOWED, at + 1, key)
    if not first then
      redis.call('ZADD', HUNGRY, at + 1, key)
    end
  end
  return true
end
