-- Taking messages out of the outstanding state, and what follows from that.

-- any_failed tells whether there may be something about failures; nil as long as nobody asked.
local any_failed

-- forget_failures removes what is kept about failures of members. Mostly there is nothing.
local function forget_failures(members, first, last)
  if any_failed == nil then
    any_failed = redis.call('EXISTS', FAILURES) == 1
  end
  if any_failed then
    redis.call('HDEL', FAILURES, unpack(members, first, last))
    redis.call('ZREM', BLOCKED, unpack(members, first, last))
  end
end

-- forget removes members from all that is kept about outstanding messages, as many at once as unpack can pass. unleased says
-- that all were leased, and are not any more.
local function forget(members, unleased)
  for i = 1, #members, 1000 do
    local last = math.min(i + 999, #members)
    redis.call('ZREM', OUT, unpack(members, i, last))
    redis.call('HDEL', DELIVERIES, unpack(members, i, last))
    forget_failures(members, i, last)
    letters.forget(members, i, last)
    if not unleased and redis.call('ZREM', LEASED, unpack(members, i, last)) < last - i + 1 then
      redis.call('ZREM', WAITING, unpack(members, i, last))
      redis.call('ZREM', DEAD, unpack(members, i, last))
    end
  end
end

-- popped are the members that went with another (order.lua), to be forgotten together: a whole run with each head.
local popped = {}

local function forget_popped()
  forget(popped)
  popped = {}
end

-- needed_floor is the n up to which the subscription needs nothing.
local function needed_floor()
  local oldest = head_of(OUT)
  if state.over > 0 then
    local left = head_of(OVERFLOWED)
    oldest = oldest and math.min(oldest, left) or left
  end
  if state.src > 0 then
    local first = head_of(SOURCE)
    oldest = oldest and math.min(oldest, first) or first
  end
  return oldest and oldest - 1 or state.n
end

-- settle_floor records what the subscription no longer needs, and trims the log if that was what held it. To be called
-- once, after everything else but save.
local function settle_floor()
  forget_popped()
  if state.bytes ~= 0 and not head_of(OUT) then
    set('bytes', 0) -- a vanished message took its size with it: here the sum is right again
  end
  local floor = needed_floor()
  local was = tonumber(redis.call('ZSCORE', FLOORS, SUB)) or -1
  if floor ~= was then
    redis.call('ZADD', FLOORS, floor, SUB)
    if head_of(FLOORS) > was then
      trim(false)
    end
  end
end

-- freed tells whether fewer are outstanding than the bound for whose sake the last lease held back new messages.
local function freed()
  if state.bound > 0 and redis.call('ZCARD', OUT) < state.bound then
    set('bound', 0)
    return true
  end
  return false
end
