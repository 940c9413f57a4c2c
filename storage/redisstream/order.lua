-- Order. The messages of a key stand in a queue, in order of the log. Most keys have one message outstanding, so that is
-- kept apart: keys holds its padded id. Only when another comes the queue is written to order, a sorted set of equal scores
-- with the key's hash and the padded id, of which a range of text is a queue; keys holds 'm' then, until the queue is empty.
-- The head is leased, waits or is dead. Behind a leased head there may be more that are leased, or acked provisionally
-- (acked: member -> size); all else is parked, and in no other set than out. A parked message that was never delivered has
-- no field in deliveries; any other one has.
local removed = {} -- what went with another in this step
local sent = {} -- what was sent back in this step

-- key_of is the key's hash; nil without order.
local function key_of(member)
  return #member > 30 and string.sub(member, 32) or nil
end

local function place_of(member)
  return string.sub(member, 32) .. string.sub(member, 1, 30)
end

local function member_at(place)
  return string.sub(place, 17) .. ':' .. string.sub(place, 1, 16)
end

local queues, written = {}, {} -- by key: what keys holds, false for nothing; and whether that has changed
local begun = {} -- key, id … of queues that began in this step

-- load_queues reads what keys holds, all at once.
local function load_queues(keys)
  if #keys > 0 then
    for i, stored in ipairs(redis.call('HMGET', QUEUES, unpack(keys))) do
      queues[keys[i]] = stored
    end
  end
end

local function queue_of(key)
  if queues[key] == nil then
    queues[key] = redis.call('HGET', QUEUES, key)
  end
  return queues[key]
end

local function set_queue(key, value)
  queues[key], written[key] = value, true
end

local function save_queues()
  local set_, deleted = begun, {}
  for key in pairs(written) do
    if queues[key] then
      set_[#set_ + 1], set_[#set_ + 2] = key, queues[key]
    else
      deleted[#deleted + 1] = key
    end
  end
  if #set_ > 0 then
    redis.call('HSET', QUEUES, unpack(set_))
  end
  if #deleted > 0 then
    redis.call('HDEL', QUEUES, unpack(deleted))
  end
end

-- queue gives the first places of a key. A colon sorts behind every digit.
local function queue(key, limit)
  local one = queue_of(key)
  if one ~= 'm' then
    return one and {key .. one} or {}
  end
  return redis.call('ZRANGE', ORDER, '[' .. key, '[' .. key .. ':', 'BYLEX', 'LIMIT', 0, limit)
end

-- behind gives the members that follow one in its queue.
local function behind(member, limit)
  local key = key_of(member)
  if queue_of(key) ~= 'm' then
    return {}
  end
  local range = redis.call('ZRANGE', ORDER, '(' .. place_of(member), '[' .. key .. ':', 'BYLEX', 'LIMIT', 0, limit)
  for i, place in ipairs(range) do
    range[i] = member_at(place)
  end
  return range
end

-- is_alone tells whether a member is all that its queue has: most are.
local function is_alone(member)
  return queue_of(key_of(member)) == string.sub(member, 1, 30)
end

local function is_head(member)
  return is_alone(member) or queue(key_of(member), 1)[1] == place_of(member)
end

local function set_counts(member, number, released)
  redis.call('HSET', DELIVERIES, member, string.format('%.0f:%.0f', number, released))
end

-- bury makes a leased or parked message dead, to be moved at once.
local function bury(member)
  redis.call('ZREM', LEASED, member)
  redis.call('ZADD', DEAD, now, member)
  urgent = true
end

-- promote lets a parked message that has become the head be leased.
local function promote(member)
  local numbers, released = counts_of({member}, '0:0')
  if state.max > 0 and numbers[1] - released[1] >= state.max then
    bury(member)
  else
    redis.call('ZADD', WAITING, now, member)
    set_counts(member, numbers[1], released[1])
  end
end

-- enqueue puts a new message behind those of its key.
local function enqueue(key, id)
  local one = queue_of(key)
  if not one then
    queues[key], begun[#begun + 1], begun[#begun + 2] = id, key, id
    return
  end
  if one ~= 'm' then
    redis.call('ZADD', ORDER, 0, key .. one)
    set_queue(key, 'm')
  end
  redis.call('ZADD', ORDER, 0, key .. id)
end

-- leave takes a member, which is or will be forgotten, out of its queue. When it was the head, what was acked behind it
-- goes too, and the next is free. first are the queue's first two places, if known.
local function leave(member, first)
  local key = key_of(member)
  if queue_of(key) ~= 'm' then
    set_queue(key, false)
    is_hungry(key)
    return
  end
  local place = place_of(member)
  first = first or queue(key, 2)
  redis.call('ZREM', ORDER, place)
  if first[1] ~= place then
    redis.call('HDEL', ACKED, member)
    return
  end
  local following = first[2]
  while following do
    local next_ = member_at(following)
    local size = redis.call('HGET', ACKED, next_)
    if not size then
      if not redis.call('ZSCORE', LEASED, next_) then
        promote(next_)
      end
      return
    end
    redis.call('HDEL', ACKED, next_)
    redis.call('ZREM', ORDER, following)
    popped[#popped + 1], removed[next_] = next_, true
    set('bytes', state.bytes - size)
    count('acked', 1)
    following = queue(key, 1)[1]
  end
  set_queue(key, false)
  is_hungry(key)
end

-- send_back parks what is leased or acked behind a member. These attempts do not count. The number rises, so that an ack of
-- what was sent back is known from one of what comes again.
local function send_back(member)
  local members = behind(member, MESSAGES_MAX) -- more than a run has
  local numbers, released = counts_of(members)
  for i, next_ in ipairs(members) do
    if redis.call('ZREM', LEASED, next_) == 0 and redis.call('HDEL', ACKED, next_) == 0 then
      return
    end
    set_counts(next_, numbers[i] + 1, released[i] + 2)
    sent[next_] = true
  end
end

-- come_again ends a lease without an ack: the message waits until at, or is parked if it is not the head. All that follows
-- in its queue comes again after it. exhausted_ says that it was the last attempt.
local function come_again(member, number, released, at, exhausted_)
  send_back(member)
  if not is_head(member) then
    redis.call('ZREM', LEASED, member)
    set_counts(member, number, released)
  elseif exhausted_ then
    bury(member)
  else
    redis.call('ZREM', LEASED, member)
    redis.call('ZADD', WAITING, at, member)
    set_counts(member, number, released)
  end
end
