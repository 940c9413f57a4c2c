-- What surveys find of the ordering keys that stand still (blocked.lua), without loading their queues (order.lua).
local LOOKED_AT, COUNTED = 100, 20 -- members of blocked; keys, as in subscriptions/survey.go

-- leads tells whether a member stands first in the queue of its key.
local function leads(member, keys, order)
  local id, key = string.sub(member, 1, 30), string.sub(member, 32)
  local only = redis.call('HGET', keys, key)
  if only ~= 'm' then
    return only == id
  end
  return redis.call('ZRANGE', order, '[' .. key, '[' .. key .. ':', 'BYLEX', 'LIMIT', 0, 1)[1] == key .. id
end

-- blocked_keys sums them up: how many there are, 1 if there may be more, ms since which the first one is, what is kept of
-- the failed attempts of its message (failures.lua); nil when there is none.
local function blocked_keys(blocked, keys, order, failures)
  local members = redis.call('ZRANGE', blocked, 0, LOOKED_AT, 'WITHSCORES')
  local found, first, more = 0, nil, #members > 2 * LOOKED_AT
  for i = 1, math.min(#members, 2 * LOOKED_AT), 2 do
    if leads(members[i], keys, order) then
      if found == COUNTED then
        more = true
        break
      end
      found, first = found + 1, first or i
    end
  end
  if first then
    return {found, more and 1 or 0, tonumber(members[first + 1]), redis.call('HGET', failures, members[first])}
  end
end
