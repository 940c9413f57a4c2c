#!lua flags=allow-oom
-- sweep: the upkeep of a subscription that nobody may be pulling, and the taking of dead messages.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5… rules (rules.lua)
--       then: most dead messages to take, ms for which no other sweep gets them, where to review or -1,
--       ms for which the log keeps what was acked
--       then, with a filter, what was found in the log behind the cursor (filter.lua)
-- gives {0, ms until a lease runs out or dead messages can be taken or -1, 1 if another sweep now would find something,
--        ms unused, where to go on reviewing or -1, ms since the oldest unacked was published or -1, epoch,
--        then for each dead message: padded id, delivery number, attempt, d, what is kept of its failed attempts or ''}
--
-- A script, since a message must not be acked, leased or taken by another sweep between the look and the change.
local most, hold = math.min(tonumber(ARGV[REST]), MESSAGES_MAX), tonumber(ARGV[REST + 1])
local place = tonumber(ARGV[REST + 2])
local meta = redis.call('HMGET', META, 'n', 'max')
local last, largest = tonumber(meta[1]), math.max(1, tonumber(meta[2]))
local looked, gone, taken = 0, {}, {}
load_verdicts(REST + 4)

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
  for _, member in ipairs(redis.call('ZRANGE', OUT, 0, MESSAGES_MAX - 1)) do
    if ms_of(member) >= cutoff or looked >= BYTES_MAX then
      break
    end
    if not removed[member] then
      look(member)
      if key_of(member) then
        leave(member)
      end
    end
  end
  forget(gone)
  forget_popped()
end

-- drop_old_source drops what the source has of such, a bounded number at once: the oldest come first.
local function drop_old_source()
  local used, bytes_ = {}, 0
  for _, member in ipairs(redis.call('ZRANGE', SOURCE, 0, MESSAGES_MAX - 1)) do
    if ms_of(member) >= cutoff or looked + bytes_ >= BYTES_MAX then
      break
    end
    local id = id_of(member)
    local entry = redis.call('XRANGE', LOG, id, id)[1]
    if entry then
      local _, size = read(entry)
      bytes_ = bytes_ + size
    end
    count(entry and 'dropped' or 'lost', 1)
    used[#used + 1] = member
  end
  looked = looked + bytes_
  out_of_source(used, #used, bytes_)
end

-- take_dead takes what is dead and not held, and revives what the rules no longer call dead.
local function take_dead()
  local members = redis.call('ZRANGE', DEAD, '-inf', now, 'BYSCORE', 'LIMIT', 0, MESSAGES_MAX)
  local numbers, released = counts_of(members)
  local held, revived, from = {}, {}, #gone
  for i, member in ipairs(members) do
    local attempts = numbers[i] - released[i]
    if not exhausted(attempts) then
      if key_of(member) then
        send_back(member) -- it may have been seized under its lease
      end
      revived[#revived + 1], revived[#revived + 2] = now, member
    elseif #taken < most and looked < BYTES_MAX then
      local entry = look(member)
      if not entry and key_of(member) then
        leave(member)
      elseif entry then
        taken[#taken + 1] = {member, numbers[i], attempts, entry[2][4]}
        held[#held + 1], held[#held + 2] = now + hold, member
      end
    end
  end
  move(DEAD, WAITING, revived)
  if #held > 0 then
    redis.call('ZADD', DEAD, unpack(held))
  end
  forget({unpack(gone, from + 1)})
end

-- review looks at a part of what waits for messages that have had all their attempts by now, and gives the place where to
-- go on, or -1. They can be taken when their wait is over.
local function review()
  if place < 0 then
    return -1
  end
  local part = redis.call('ZRANGE', WAITING, place, place + MESSAGES_MAX - 1, 'WITHSCORES')
  local members, dead = {}, {}
  for i = 1, #part, 2 do
    members[#members + 1] = part[i]
  end
  local numbers, released = counts_of(members)
  for i, member in ipairs(members) do
    if exhausted(numbers[i] - released[i]) then
      dead[#dead + 1], dead[#dead + 2] = part[2 * i], member
    end
  end
  move(WAITING, DEAD, dead)
  return #members == MESSAGES_MAX and place + MESSAGES_MAX - #dead / 2 or -1
end

-- left tells whether another sweep now would find something.
local function left()
  local oldest, dead, lease = redis.call('ZRANGE', OUT, 0, 0)[1], head_of(DEAD), head_of(LEASED)
  local first = in_source()
  return state.purge ~= '' or first and ms_of(first) < cutoff or most > 0 and dead and dead <= now or lease and lease <= now or oldest and ms_of(oldest) < cutoff
    or any_hungry() and redis.call('ZCARD', OUT) < bound
end

-- soon is the ms until the next time after now at which a lease runs out or dead messages can be taken; -1 without one.
local function soon()
  local first
  for _, key in ipairs(most > 0 and {LEASED, DEAD} or {LEASED}) do
    local at = tonumber(redis.call('ZRANGE', key, string.format('(%.0f', now), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2])
    first = at and math.min(at, first or at) or first
  end
  return time_to(first)
end

retain('retain:' .. SUB, tonumber(ARGV[REST + 3]))
local before = next_due()
skip_old(last)
if purge() then
  drop_old_source()
end
refill(largest) -- before anything makes more keys hungry: with a filter only what was there before has been judged
drop_old()
expire()
local reviewed = review()
take_dead()
table.sort(taken, function(a, b) return a[1] < b[1] end)
settle_floor()
trim(true)
local places = freed()
save_queues()
save_overflows()
save()
announce_due(before, next_due(), urgent or places)
local reply = {OK, soon(), left() and 1 or 0, math.max(0, now - redis.call('HGET', STATE, 'used')), reviewed, oldest_age(), state.epoch}
for _, delivery in ipairs(taken) do
  for i = 1, 4 do
    reply[#reply + 1] = delivery[i]
  end
  reply[#reply + 1] = redis.call('HGET', FAILURES, delivery[1]) or ''
end
return reply
