#!lua flags=allow-oom
-- sweep: the upkeep of a subscription that nobody may be pulling, and the taking of dead messages.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:due:SUB  7 …:out:SUB  8 …:deliveries:SUB  9 …:dead:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5… rules (rules.lua)
--       then: most dead messages to take, ms for which no other sweep gets them
-- gives {0, ms until a lease or a hold runs out or -1, 1 if another sweep now would find something, ms unused, epoch,
--        then for each dead message: padded id, delivery number, attempt, d}
--
-- A script, since a message must not be acked, leased or taken by another sweep between the look and the change.
local most, hold = math.min(tonumber(ARGV[REST]), 200), tonumber(ARGV[REST + 1])
local last = tonumber(redis.call('HGET', META, 'n'))
local looked, gone, taken = 0, {}, {}

-- look reads the entry of an outstanding message; one that has vanished or is too old is dropped.
local function look(member)
  local id = id_of(member)
  local entry = redis.call('XRANGE', LOG, id, id)[1]
  if not entry then
    count('lost', 1)
    gone[#gone + 1] = member
    return
  end
  local _, size = read(entry)
  looked = looked + size
  if ms_of(member) < cutoff then
    count('dropped', 1)
    set('bytes', state.bytes - size)
    gone[#gone + 1] = member
    return
  end
  return entry
end

-- drop_old drops outstanding messages that outlived the retention: the oldest come first in out.
local function drop_old()
  for _, member in ipairs(redis.call('ZRANGE', OUT, 0, 199)) do
    if ms_of(member) >= cutoff or looked >= 1000000 then
      break
    end
    look(member)
  end
  forget(gone)
end

-- take_dead takes what is dead and not held, and revives what the rules no longer call dead.
local function take_dead()
  local members = redis.call('ZRANGE', DEAD, '-inf', now, 'BYSCORE', 'LIMIT', 0, 200)
  local numbers, released = counts_of(members)
  local held, revived, from = {}, {}, #gone
  for i, member in ipairs(members) do
    local attempts = numbers[i] - released[i]
    if not exhausted(attempts) then
      revived[#revived + 1], revived[#revived + 2] = DUE_NOW, member
    elseif #taken < most and looked < 1000000 then
      local entry = look(member)
      if entry then
        taken[#taken + 1] = {member, numbers[i], attempts, entry[2][4]}
        held[#held + 1], held[#held + 2] = now + hold, member
      end
    end
  end
  if #revived > 0 then
    redis.call('ZADD', DUE, unpack(revived))
    for i = 2, #revived, 2 do
      redis.call('ZREM', DEAD, revived[i])
    end
  end
  if #held > 0 then
    redis.call('ZADD', DEAD, unpack(held))
  end
  forget({unpack(gone, from + 1)})
end

-- left tells whether another sweep now would find something. What waits and is due is for a lease to take.
local function left()
  local oldest, dead = redis.call('ZRANGE', OUT, 0, 0)[1], head_of(DEAD)
  if dead and dead <= now or oldest and ms_of(oldest) < cutoff then
    return true
  end
  local due = redis.call('ZRANGE', DUE, '-inf', DUE_NOW, 'BYSCORE', 'LIMIT', 0, 200, 'WITHSCORES')
  for i = 2, #due, 2 do
    if tonumber(due[i]) % 2 == 0 then
      return true
    end
  end
  return false
end

-- soon is the ms until the next time after now at which a lease, a wait or a hold ends; -1 when none will.
local function soon()
  local due = redis.call('ZRANGE', DUE, '(' .. string.format('%.0f', DUE_NOW), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  local dead = redis.call('ZRANGE', DEAD, '(' .. string.format('%.0f', now), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  due = due and math.floor(due / 2) - now
  dead = dead and dead - now
  return math.min(due or dead or -1, dead or due or -1)
end

local before = head_of(DUE)
skip_old(last)
drop_old()
local died = expire(200)
take_dead()
table.sort(taken, function(a, b) return a[1] < b[1] end)
settle_floor()
trim(true)
local places = freed()
save()
announce_due(before, head_of(DUE), died or places)
local reply = {OK, soon(), left() and 1 or 0, math.max(0, now - state.used), state.epoch}
for _, delivery in ipairs(taken) do
  for i = 1, 4 do
    reply[#reply + 1] = delivery[i]
  end
end
return reply
