-- refill, when the source is empty, reads on from where the hungry key that is furthest behind may have left something, and fills the queues of all
-- hungry keys that it meets. It tells whether there was one. largest is the size of the largest message. All hungry keys go
-- on together, for with one after the other each would read what the others left: keys times messages.
local function refill(largest)
  local lowest = state.over > 0 and state.src == 0 and redis.call('ZRANGE', HUNGRY, 0, 0)[1]
  if not lowest then
    return false
  end
  local room = bound - redis.call('ZCARD', OUT)
  local most = math.min(MESSAGES_MAX, math.max(1, math.floor(BYTES_MAX / largest)))
  local entries = redis.call('XRANGE', LOG, '(' .. overflow_of(lowest).after, state.id, 'COUNT', most)
  local met, from = {}, {} -- the hungry keys here, and the n from which on each may have left something
  local filled, first, full = {}, {}, {}
  local at, at_id = nil, nil -- how far all was looked at

  local function look_around()
    local keys, seen = {}, {}
    for _, entry in ipairs(entries) do
      local key = key_in(entry)
      if key and not seen[key] then
        keys[#keys + 1], seen[key] = key, true
      end
    end
    if #keys == 0 then
      return
    end
    for i, n in ipairs(redis.call('ZMSCORE', HUNGRY, unpack(keys))) do
      if n then
        met[#met + 1], from[keys[i]], filled[keys[i]] = keys[i], tonumber(n), 0
      end
    end
    load_queues(met)
    load_overflows(met)
  end

  local function take_back(key, entry, n, size)
    if filled[key] == REFILL_MAX then
      full[key] = true
      return
    end
    spill(key, -1, -size)
    overflow_of(key).after = entry[1]
    local member = member_of(entry[1])
    if ms_of(member) < cutoff then
      count('dropped', 1)
      return
    end
    if is_late(entry) and not bury_late then
      count('late', 1)
      return
    end
    enqueue(key, member)
    member = member .. ':' .. key
    redis.call('ZADD', OUT, n, member)
    set('bytes', state.bytes + size)
    filled[key], first[key], room = filled[key] + 1, first[key] or member, room - 1
  end

  -- go_on is for a key that has nothing left up to an entry.
  local function go_on(key, n, id)
    overflow_of(key).after, spilled[key] = id, true
    redis.call('ZADD', OVERFLOWED, n + 1, key)
    if not first[key] then
      redis.call('ZADD', HUNGRY, n + 1, key)
    end
  end

  look_around()
  local ended = #entries < most
  for _, entry in ipairs(entries) do
    if room <= 0 then
      ended = false
      break
    end
    local n, size = read(entry)
    local key = key_in(entry)
    if from[key] and n >= from[key] then
      local matches = verdict(n)
      if matches == nil then
        ended = false
        break
      elseif matches then
        take_back(key, entry, n, size)
      end
    end
    at, at_id = n, entry[1]
  end
  for _, key in ipairs(met) do
    local o = overflow_of(key)
    if first[key] then
      promote(first[key])
      redis.call('ZREM', HUNGRY, key)
    end
    if o.count == 0 or ended and not full[key] then
      forget_overflow(key)
    elseif full[key] then
      redis.call('ZADD', OVERFLOWED, tonumber(string.sub(string.match(o.after, '%d+$'), 1, -5)) + 1, key)
    elseif at and from[key] <= at then
      go_on(key, at, at_id)
    end
  end
  if at or ended then
    local others = redis.call('ZRANGE', HUNGRY, '-inf', ended and '+inf' or at, 'BYSCORE', 'LIMIT', 0, MESSAGES_MAX)
    load_overflows(others)
    for _, key in ipairs(others) do
      if ended then
        forget_overflow(key)
      else
        go_on(key, at, at_id)
      end
    end
  end
  return true
end
