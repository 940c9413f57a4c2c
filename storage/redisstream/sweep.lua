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
local meta = redis.call('HMGET', META, 'n', 'ms', 'sum')
local last = {n = tonumber(meta[1]), ms = tonumber(meta[2]), sum = tonumber(meta[3])}
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

local before, dropped = head_of(DUE), state.dropped
drop_old()
skip_old(last)
local died = expire(200)
take_dead()
if #gone > 0 or state.dropped > dropped then
  settle_floor()
end
local places = #gone > 0 and freed()
save()

local after, dead = head_of(DUE), head_of(DEAD)
announce_due(before, after, died or places)
-- A waiting message that is due is for a lease to take: a sweep finds nothing to do in it.
local leases = redis.call('ZRANGE', DUE, '-inf', DUE_NOW, 'BYSCORE', 'LIMIT', 0, 200, 'WITHSCORES')
local more = dead and dead <= now
for i = 2, #leases, 2 do
  more = more or tonumber(leases[i]) % 2 == 0
end
local oldest = redis.call('ZRANGE', OUT, 0, 0)[1]
more = more or oldest and ms_of(oldest) < cutoff
local soon = next_due(after)
if dead and (soon < 0 or dead - now < soon) then
  soon = math.max(0, dead - now)
end
local reply = {OK, soon, more and 1 or 0, math.max(0, now - state.used), state.epoch}
for _, delivery in ipairs(taken) do
  for i = 1, 4 do
    reply[#reply + 1] = delivery[i]
  end
end
return reply
