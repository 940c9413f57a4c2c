-- Late messages: those whose own time to live is over. They are never delivered, but dropped, or dead where the rules say so.
local any_ttl = false -- whether a message of the topic ever had one, to be set from what read_end gives

local function is_late(entry)
  local over = any_ttl and over_of(entry)
  return over and over <= now
end

-- parked_now is how many messages are parked.
local function parked_now()
  return redis.call('ZCARD', OUT) - redis.call('ZCARD', LEASED) - redis.call('ZCARD', WAITING) - redis.call('ZCARD', DEAD)
    - redis.call('HLEN', ACKED)
end

-- add_late puts a late message that is not outstanding yet into the queue of its key, and adds it to those to be buried if it
-- is the first there: what stands behind another is parked. It gives the member.
local function add_late(entry, key, dead)
  local member, first = member_of(entry[1]), true
  if key then
    first = not queue_of(key)
    enqueue(key, member)
    member = member .. ':' .. key
  end
  if first then
    dead[#dead + 1], dead[#dead + 2] = now, member
  end
  return member
end

-- bury_all makes such messages dead. None was ever delivered.
local function bury_all(dead)
  if #dead > 0 then
    local counts = {}
    for i = 2, #dead, 2 do
      counts[i - 1], counts[i] = dead[i], '0:0'
    end
    redis.call('ZADD', DEAD, unpack(dead))
    redis.call('HSET', DELIVERIES, unpack(counts))
    urgent = true
  end
end
