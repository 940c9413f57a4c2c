-- Overflow. When half of the bound is parked, a key that would park more leaves it in the log: how much, and from where on,
-- is all that is kept of it, and the cursor goes on. When the key's queue is empty it is hungry, and is filled again.
local REFILL_MAX = 100
local urgent = false -- whether somebody should look at once: a message became dead in this step, or a key hungry
local overflows, spilled = {}, {} -- by key: {count, bytes, after}, false for none; and whether that has changed

local function overflow_from(stored)
  if not stored then
    return false
  end
  local count_, bytes_, after_ = string.match(stored, '^(%d+):(%d+):(.*)$')
  return {count = tonumber(count_), bytes = tonumber(bytes_), after = after_}
end

-- load_overflows reads what these keys left, all at once.
local function load_overflows(keys)
  if state.over > 0 and #keys > 0 then
    for i, stored in ipairs(redis.call('HMGET', OVERFLOW, unpack(keys))) do
      overflows[keys[i]] = overflow_from(stored)
    end
  end
end

local function overflow_of(key)
  if overflows[key] == nil and state.over > 0 then
    overflows[key] = overflow_from(redis.call('HGET', OVERFLOW, key))
  end
  return overflows[key] or false
end

-- spill changes what a key left by so many messages and bytes.
local function spill(key, count_, bytes_)
  local o = overflows[key]
  o.count, o.bytes, spilled[key] = o.count + count_, o.bytes + bytes_, true
  set('over', state.over + count_)
  set('overbytes', state.overbytes + bytes_)
end

-- leave_in_log is for a message that is not parked.
local function leave_in_log(key, id, n, size)
  if not overflow_of(key) then
    local ms, seq = string.match(id, '^(%d+)-(%d+)$')
    overflows[key] = {count = 0, bytes = 0, after = ms .. '-' .. string.format('%.0f', tonumber(seq) - 1)}
    redis.call('ZADD', OVERFLOWED, n, key)
  end
  spill(key, 1, size)
end

local function save_overflows()
  local args = {}
  for key in pairs(spilled) do
    local o = overflows[key]
    args[#args + 1], args[#args + 2] = key, string.format('%.0f:%.0f:%s', o.count, o.bytes, o.after)
  end
  if #args > 0 then
    redis.call('HSET', OVERFLOW, unpack(args))
  end
end

-- forget_overflow is for a key that has nothing left in the log. What it should have has vanished.
local function forget_overflow(key)
  local o = overflow_of(key)
  count('lost', o.count)
  spill(key, -o.count, -o.bytes)
  redis.call('HDEL', OVERFLOW, key)
  redis.call('ZREM', OVERFLOWED, key)
  redis.call('ZREM', HUNGRY, key)
  overflows[key], spilled[key] = false, nil
end

-- drop_overflows drops all that was left in the log.
local function drop_overflows()
  if state.over > 0 then
    count('dropped', state.over)
    set('over', 0)
    set('overbytes', 0)
    redis.call('UNLINK', OVERFLOW, OVERFLOWED, HUNGRY)
    overflows = {}
  end
end

-- is_hungry notes that a key's queue is empty.
local function is_hungry(key)
  if overflow_of(key) then
    urgent = true
    redis.call('ZADD', HUNGRY, redis.call('ZSCORE', OVERFLOWED, key), key)
  end
end

-- any_hungry tells whether there is something to refill. What the source has is older.
local function any_hungry()
  return state.over > 0 and state.src == 0 and redis.call('ZCARD', HUNGRY) > 0
end
