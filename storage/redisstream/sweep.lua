#!lua flags=allow-oom
-- sweep: the upkeep of a subscription that nobody may be pulling, and the taking of dead messages.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB  23 …:delayed  24 …:delays
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5… rules (rules.lua)
--       then: most dead messages to take, ms for which no other sweep gets them, where to review or -1,
--       ms for which the log keeps what was acked, '1' if late messages ahead of the cursor may be taken
--       then, with a filter, what was found in the log behind the cursor (filter.lua)
-- gives {0, ms until a lease runs out or dead messages can be taken or -1, 1 if another sweep now would find something,
--        ms unused, where to go on reviewing or -1, ms since the oldest unacked was published or -1, epoch,
--        then for each dead message: padded id, delivery number, attempt, d, 1 if it is dead since it is late,
--        what is kept of its failed attempts or ''}
--
-- A script, since a message must not be acked, leased or taken by another sweep between the look and the change.
local most, hold = math.min(tonumber(ARGV[REST]), MESSAGES_MAX), tonumber(ARGV[REST + 1])
local place = tonumber(ARGV[REST + 2])
local log = read_end()
local last, largest = log.n, math.max(1, log.max)
any_ttl = log.ttl
local next_late, more_late = nil, false -- when the next message that was looked at is late; whether more are
local looked, gone, taken = 0, {}, {}
load_verdicts(REST + 5)

-- look reads the entry of an outstanding message; one that has vanished or is too old is dropped.
local function look(member)
  local entry = letters.entry_of(member)
  if not entry then
    count('lost', 1)
    gone[#gone + 1] = member
    return
  end
  local _, size = read(entry)
  looked = looked + size
  if letters.time_of(member) < cutoff then
    count('dropped', 1)
    set('bytes', state.bytes - size)
    gone[#gone + 1] = member
    return
  end
  return entry
end

-- drop_old drops outstanding messages that outlived the retention: the oldest come first in out.
local function drop_old()
  for _, member in ipairs(redis.call('ZRANGE', OUT, 0, MESSAGES_MAX - 1 + math.min(state.red, MESSAGES_MAX))) do
    if ms_of(member) >= cutoff or looked >= BYTES_MAX or #gone == MESSAGES_MAX then
      break
    end
    if not removed[member] and letters.time_of(member) < cutoff then
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
  for _, member in ipairs(redis.call('ZRANGE', SOURCE, 0, MESSAGES_MAX - 1 + math.min(state.red, MESSAGES_MAX))) do
    if ms_of(member) >= cutoff or looked + bytes_ >= BYTES_MAX or #used == MESSAGES_MAX then
      break
    end
    if letters.time_of(member) < cutoff then
      local entry = letters.entry_of(member)
      if entry then
        local _, size = read(entry)
        bytes_ = bytes_ + size
      end
      count(entry and 'dropped' or 'lost', 1)
      used[#used + 1] = member
    end
  end
  letters.forget(used)
  looked = looked + bytes_
  out_of_source(used, #used, bytes_)
end

-- not_late notes when an entry that is not late will be.
local function not_late(entry)
  local over = over_of(entry)
  next_late = over and math.min(over, next_late or over) or next_late
end

-- skip_late takes late messages right ahead of the cursor, in place of a lease that nobody asks for. What stands in the way is
-- one that is not late, or that must come after others.
local function skip_late()
  if not any_ttl or ARGV[REST + 4] ~= '1' or state.src > 0 or state.n >= last then
    return
  end
  local room, parked = bound - redis.call('ZCARD', OUT), ordered and parked_now()
  local dead, out_args, bytes, passed = {}, {}, 0, 0
  local entries = redis.call('XRANGE', LOG, '(' .. state.id, '+', 'COUNT', math.min(MESSAGES_MAX, math.max(1, math.floor(BYTES_MAX / largest))))
  for i, entry in ipairs(entries) do
    local n, size = read(entry)
    local key = ordered and key_in(entry)
    if n ~= state.n + 1 or key and overflow_of(key) then
      break
    elseif not is_late(entry) then
      not_late(entry)
      break
    elseif not bury_late then
      count('late', 1)
    elseif passed >= room or key and queue_of(key) and parked >= math.floor(bound / 2) then
      break
    else
      parked = key and queue_of(key) and parked + 1 or parked
      out_args[#out_args + 1], out_args[#out_args + 2] = n, add_late(entry, key, dead)
      bytes, passed = bytes + size, passed + 1
    end
    set('id', entry[1])
    set('n', n)
    set('sum', sum_of(entry))
    more_late = i == #entries and n < last
  end
  if #out_args > 0 then
    redis.call('ZADD', OUT, unpack(out_args))
    set('bytes', state.bytes + bytes)
  end
  bury_all(dead)
end

-- late_waiting does so for what waits, the first to be due first: a bounded number.
local function late_waiting()
  if not any_ttl then
    return
  end
  local dead, dropped, bytes = {}, {}, 0
  for _, member in ipairs(redis.call('ZRANGE', WAITING, 0, MESSAGES_MAX - 1)) do
    local entry = letters.entry_of(member)
    if entry then
      local _, size = read(entry)
      bytes = bytes + size
      if not is_late(entry) then
        not_late(entry)
      elseif bury_late then
        dead[#dead + 1], dead[#dead + 2] = now, member
      else
        count('late', 1)
        set('bytes', state.bytes - size)
        dropped[#dropped + 1] = member
      end
    end
    if bytes >= BYTES_MAX then
      break
    end
  end
  more_late = more_late or #dropped + #dead / 2 == MESSAGES_MAX
  move(WAITING, DEAD, dead)
  urgent = urgent or #dead > 0
  forget(dropped)
  for _, member in ipairs(dropped) do
    if key_of(member) then
      leave(member)
    end
  end
  forget_popped()
end

-- of_late tells what becomes of a dead message that has not had all its attempts: late ones stay dead, or are dropped.
local function of_late(member)
  local entry = any_ttl and letters.entry_of(member)
  if entry and is_late(entry) then
    return bury_late and 'dead' or 'dropped', entry
  end
end

-- take_dead takes what is dead and not held, and revives what the rules no longer call dead.
local function take_dead()
  local members = redis.call('ZRANGE', DEAD, '-inf', now, 'BYSCORE', 'LIMIT', 0, MESSAGES_MAX)
  local numbers, released = counts_of(members)
  local held, revived, from = {}, {}, #gone
  for i, member in ipairs(members) do
    local attempts = numbers[i] - released[i]
    local late, late_entry = nil, nil
    if not exhausted(attempts) then
      late, late_entry = of_late(member)
    end
    if late == 'dropped' then
      local _, size = read(late_entry)
      count('late', 1)
      set('bytes', state.bytes - size)
      gone[#gone + 1] = member
      if key_of(member) then
        leave(member)
      end
    elseif not late and not exhausted(attempts) then
      if key_of(member) then
        send_back(member) -- it may have been seized under its lease
      end
      revived[#revived + 1], revived[#revived + 2] = now, member
    elseif #taken < most and looked < BYTES_MAX then
      local entry = look(member)
      if not entry and key_of(member) then
        leave(member)
      elseif entry then
        taken[#taken + 1] = {member, numbers[i], attempts, entry[2][4], late and 1 or 0}
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
  local dead, lease = head_of(DEAD), head_of(LEASED)
  return more_late or state.purge ~= '' or letters.any_old(SOURCE, cutoff) or most > 0 and dead and dead <= now
    or lease and lease <= now or letters.any_old(OUT, cutoff)
    or any_hungry() and redis.call('ZCARD', OUT) < bound or log.due and log.due <= now
end

-- soon is the ms until the next time after now at which a lease runs out, dead messages can be taken or something that was
-- looked at is late; -1 without one.
local function soon()
  local first = next_late
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
skip_late()
late_waiting()
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
  for i = 1, 5 do
    reply[#reply + 1] = delivery[i]
  end
  reply[#reply + 1] = redis.call('HGET', FAILURES, delivery[1]) or ''
end
return reply
