-- expire goes through up to limit of what is due: an expired lease starts to wait for its retry, and what has had all
-- its attempts is dead. It tells whether anything died.
local function expire(limit)
  local due = redis.call('ZRANGE', DUE, '-inf', DUE_NOW, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  local members, scores, waiting, dead, expired = {}, {}, {}, {}, 0
  for i = 1, #due, 2 do
    members[#members + 1], scores[#scores + 1] = due[i], tonumber(due[i + 1])
  end
  local numbers, released = counts_of(members)
  for i, member in ipairs(members) do
    local attempts, leased = numbers[i] - released[i], scores[i] % 2 == 0
    if leased then
      expired = expired + 1
    end
    if exhausted(attempts) then
      dead[#dead + 1] = member
    elseif leased then
      waiting[#waiting + 1] = scores[i] + 2 * delay(attempts) + 1
      waiting[#waiting + 1] = member
    end
  end
  if #waiting > 0 then
    redis.call('ZADD', DUE, unpack(waiting))
  end
  bury(dead)
  count('expired', expired)
  return #dead > 0
end
