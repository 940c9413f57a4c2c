#!lua flags=allow-oom
-- lease: hands out messages, those due again before new ones.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB  23 …:delayed  24 …:delays
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5… rules (rules.lua)
--       then: most messages, most bytes, lease in ms, '1' if it counts as a use, most of one key
--       then, with a filter, what was found in the log (filter.lua)
-- gives {0, ms until the next is due or -1, 1 if more can be leased now, epoch,
--        then for each delivery: padded id, delivery number, attempt, d}
--
-- A script, since the cursor, the deadlines and the counters must move together, and never for two callers at once.
local most = math.min(math.max(tonumber(ARGV[REST]), 1), MESSAGES_MAX)
local most_bytes = math.min(tonumber(ARGV[REST + 1]), BYTES_MAX)
local until_, run = now + tonumber(ARGV[REST + 2]), tonumber(ARGV[REST + 4])
local until_score = string.format('%.0f', until_)
load_page(load_verdicts(REST + 5))
local last = read_end()
local largest = math.max(1, last.max)
any_ttl = last.ttl

local taken = {} -- {member, number, attempt, d}
local bytes = 0 -- of what was taken
local looked = 0 -- bytes that were read
local examined = 0 -- messages of the source and the log
local FULL = math.huge
local runs = {} -- by key: how many are leased here; FULL when something stands behind them that is not

-- fits tells whether a message may be taken, too: one always may.
local function fits(size)
  return #taken == 0 or bytes + size <= most_bytes
end

local function take(member, number, attempt, size, data)
  taken[#taken + 1] = {member, number, attempt, data}
  bytes = bytes + size
end

-- again leases up to quota messages that wait and are due. What has vanished or is too old is dropped on the way, and what
-- has had all its attempts, since their number was lowered, is dead. It tells whether anything was dropped.
local function again(quota)
  local seen, gone, dead, lease, delivery_args = 0, {}, {}, {}, {}
  -- look leases a message; false ends the redeliveries, nil is for one that has gone or is dead. A parked one that is to be
  -- dead must be the head of its key first: late.
  local function look(member, number, released, parked)
    local entry = letters.entry_of(member)
    if not entry then
      count('lost', 1)
      gone[#gone + 1] = member
      return nil
    end
    local _, size = read(entry)
    looked = looked + size
    if letters.time_of(member) < cutoff then
      count('dropped', 1)
      set('bytes', state.bytes - size)
      gone[#gone + 1] = member
      return looked < BYTES_MAX and nil
    end
    if is_late(entry) then
      if bury_late and parked then
        return 'late'
      elseif bury_late then
        dead[#dead + 1], dead[#dead + 2] = now, member
      else
        count('late', 1)
        set('bytes', state.bytes - size)
        gone[#gone + 1] = member
      end
      return looked < BYTES_MAX and nil
    end
    if not fits(size) then
      return false
    end
    take(member, number + 1, number + 1 - released, size, entry[2][4])
    lease[#lease + 1], lease[#lease + 2] = until_score, member
    delivery_args[#delivery_args + 1] = member
    delivery_args[#delivery_args + 1] = string.format('%.0f:%.0f', number + 1, released)
    return looked < BYTES_MAX
  end
  -- follow leases a run of parked messages with the head of their key.
  local function follow(member)
    local key = key_of(member)
    local members = behind(member, run)
    local numbers, released = counts_of(members, '0:0')
    local leased = 1
    runs[key] = FULL
    for i, next_ in ipairs(members) do
      if leased >= run or exhausted(numbers[i] - released[i]) then
        return true
      end
      if #taken == quota then
        return false
      end
      local ok = look(next_, numbers[i], released[i], true)
      if ok == 'late' then
        return true
      elseif ok == false then
        return false
      elseif ok then
        leased = leased + 1
      end
    end
    runs[key] = #members == run and FULL or leased
    return true
  end
  local function page()
    local size = math.min(quota - #taken, MESSAGES_MAX - seen)
    if size <= 0 then
      return false
    end
    local members = redis.call('ZRANGE', WAITING, '-inf', now, 'BYSCORE', 'LIMIT', seen, size)
    seen = seen + #members
    local numbers, released = counts_of(members)
    for i, member in ipairs(members) do
      if exhausted(numbers[i] - released[i]) then
        dead[#dead + 1], dead[#dead + 2] = now, member
      else
        local ok = look(member, numbers[i], released[i])
        if ok == false or ok and key_of(member) and not follow(member) then
          return false
        end
        if #taken == quota then
          return false
        end
      end
    end
    return #members == size
  end
  while page() do end
  if #lease > 0 then
    move(WAITING, LEASED, lease)
    redis.call('HSET', DELIVERIES, unpack(delivery_args))
  end
  move(WAITING, DEAD, dead)
  forget(gone)
  for _, member in ipairs(gone) do
    if key_of(member) and not removed[member] then
      leave(member)
    end
  end
  urgent = urgent or #dead > 0
  return #gone > 0
end

-- advance moves the cursor. Of the messages that it passes so many were found: the others have vanished.
local function advance(id, n, sum, found)
  count('lost', n - state.n - found)
  set('id', id)
  set('n', n)
  set('sum', sum)
end

-- pass_over moves the cursor, with a filter, to just before an entry, or to the end of what was judged without one, over so many
-- that do not match.
local function pass_over(gap, entry)
  local id, n, sum = ahead.id, ahead.n, ahead.sum
  if entry then
    local size
    n, size = read(entry)
    local ms, seq = string.match(entry[1], '^(%d+)-(%d+)$')
    id, n, sum = ms .. '-' .. string.format('%.0f', tonumber(seq) - 1), n - 1, sum_of(entry) - size
  end
  if n > state.n then
    gap = math.min(gap, n - state.n)
    count('filtered', gap)
    advance(id, n, sum, gap)
  end
end

-- leads tells whether a message that comes now may be leased: it has no key, nothing of its key is outstanding, or only what
-- is leased here as one run. One of the source is older than what its key left in the log.
local function leads(key, of_source)
  if not key then
    return true
  end
  if not of_source and overflow_of(key) then
    return false
  end
  local leased = runs[key]
  if not leased then
    leased = queue_of(key) and FULL or 0
    runs[key] = leased
  end
  return leased < run
end

-- batch is what one of the next two gathers: members with their scores for leased and out, how many more it may lease, and the
-- number and bytes of what is outstanding by it.
local function batch(want)
  return {lease = {}, out = {}, left = want, taking = 0, passed = 0, late = {}}
end

-- admit_late makes an entry outstanding whose time is over: dead, if it is the first of its key, else parked.
local function admit_late(b, entry, place, size, key)
  b.out[#b.out + 1], b.out[#b.out + 2] = place, add_late(entry, key, b.late)
  b.passed, b.taking = b.passed + size, b.taking + 1
  if key then
    runs[key] = FULL
  end
end

-- admit makes an entry outstanding: leased if it leads its key, else parked. place is its n as text.
local function admit(b, entry, place, size, key, leading)
  local member, out, lease = member_of(entry[1]), b.out, b.lease
  local outs, leases = #out, #lease -- to be asked once: Lua searches for the end of a list
  if key then
    enqueue(key, member)
    member = member .. ':' .. key
    runs[key] = leading and runs[key] + 1 or FULL
  end
  local back = state.red > 0 and tonumber(redis.call('ZSCORE', letters.at, letters.bare(member)) or nil) or 0 -- higher than any number it had
  if leading then
    take(member, back + 1, 1, size, entry[2][4])
    lease[leases + 1], lease[leases + 2] = until_score, member
    b.left = b.left - 1
  end
  if back > 0 then
    set_counts(member, leading and back + 1 or back, back)
  end
  out[outs + 1], out[outs + 2] = place, member
  b.passed, b.taking = b.passed + size, b.taking + 1
end

-- write keeps what was admitted.
local function write(b)
  if #b.lease > 0 then
    redis.call('ZADD', LEASED, unpack(b.lease))
  end
  if #b.out > 0 then
    redis.call('ZADD', OUT, unpack(b.out))
  end
  bury_all(b.late)
end

-- new leases up to want messages from behind the cursor, parks what must wait for another of its key, and gives the number
-- of both, room at most. A first delivery leaves no trace in deliveries, nor does what is parked.
local function new(want, room)
  local b = batch(want)
  local parked = ordered and parked_now()
  local blocked = false
  if ahead and (state.n < ahead.from or state.n >= ahead.n) then
    return 0, 0 -- it is not about what lies ahead: the cursor was moved
  end

  -- pass gives an entry its place; false when it does not fit.
  local function pass(entry, place, size, key)
    local leading, late = leads(key), is_late(entry)
    if leading and not late and not fits(size) then
      return false
    end
    if key and not leading and (overflow_of(key) or parked >= math.floor(bound / 2)) then
      leave_in_log(key, entry[1], place, size)
      return true
    end
    if late and not bury_late then
      count('late', 1)
      looked = looked + size
      return true
    end
    if not leading or late and key and queue_of(key) then
      parked = parked + 1
    end
    if late then
      admit_late(b, entry, place, size, key)
    else
      admit(b, entry, place, size, key, leading)
    end
    return true
  end

  local function page()
    local count_ = math.min(b.left, room - b.taking, MESSAGES_MAX - examined, math.max(1, math.floor((most_bytes - b.passed) / largest)))
    local entries, gaps = {}, {}
    if ahead then
      repeat
        entries[#entries + 1], gaps[#entries + 1] = following()
      until #entries == count_ or not ARGV[ahead.at]
    else
      entries = redis.call('XRANGE', LOG, '(' .. state.id, '+', 'COUNT', count_)
    end
    local found, at, key_at = 0, nil, {}
    if ordered then
      local keys = {}
      for i, entry in ipairs(entries) do
        local key = key_in(entry)
        key_at[i] = key
        if key and queues[key] == nil then
          keys[#keys + 1] = key
        end
      end
      load_queues(keys)
      load_overflows(keys)
    end
    for i, entry in ipairs(entries) do
      local n, size, place = read(entry)
      if ahead then
        pass_over(gaps[i], entry)
      end
      if not pass(entry, place, size, key_at[i]) then
        break
      end
      if ahead then
        advance(entry[1], n, sum_of(entry), 1)
      end
      found, at = i, n
    end
    if found > 0 and not ahead then
      advance(entries[found][1], at, sum_of(entries[found]), found)
    end
    examined = examined + found
    if found < #entries then
      blocked = true
      return false
    end
    if ahead then
      return b.left > 0 and b.taking < room and examined < MESSAGES_MAX and b.passed < BYTES_MAX and looked < BYTES_MAX and ARGV[ahead.at]
    end
    if #entries < count_ and state.n < last.n then -- what n says lies ahead is not there
      advance(string.format('%.0f-%.0f', last.ms, last.n * 10000 + 9999), last.n, last.sum, 0)
    end
    return b.left > 0 and b.taking < room and examined < MESSAGES_MAX and b.passed < BYTES_MAX and looked < BYTES_MAX and state.n < last.n
  end
  while page() do end
  if ahead and not blocked then
    local entry, gap = following()
    pass_over(entry and gap or ahead.gap + ahead.rest, entry)
  end
  set('bytes', state.bytes + b.passed)
  write(b)
  return b.taking, want - b.left
end

-- from_source is new for the source, whose messages are never left in the log: they were outstanding before. It gives also
-- whether some were too old or had vanished.
local function from_source(want, room)
  local b, stop, dropped = batch(want), false, false

  local function pass(entry, place, size)
    local key = ordered and key_in(entry)
    local leading, late = leads(key, true), is_late(entry)
    if leading and not late and not fits(size) then
      return false
    end
    if late then
      admit_late(b, entry, place, size, key)
    else
      admit(b, entry, place, size, key, leading)
    end
    if key and state.over > 0 then
      redis.call('ZREM', HUNGRY, key)
    end
    return true
  end

  local function page()
    local members = redis.call('ZRANGE', SOURCE, 0, math.min(b.left, room - b.taking, MESSAGES_MAX - examined) - 1, 'WITHSCORES')
    local used, bytes_ = {}, 0
    for i = 1, #members, 2 do
      local member = members[i]
      local entry, size = letters.entry_of(member), 0
      if entry then
        local _, size_ = read(entry)
        size = size_
      end
      local old = entry and letters.time_of(member) < cutoff
      if not entry or old or not bury_late and is_late(entry) then
        count(old and 'dropped' or entry and 'late' or 'lost', 1)
        letters.forget({member})
        dropped, b.passed = true, b.passed + size
      elseif not pass(entry, members[i + 1], size) then
        stop = true
        break
      else
        set('bytes', state.bytes + size)
      end
      used[#used + 1], bytes_ = member, bytes_ + size
      examined = examined + 1
      if b.passed >= BYTES_MAX then
        stop = true
        break
      end
    end
    out_of_source(used, #used, bytes_)
    return not stop and state.src > 0 and b.left > 0 and b.taking < room and examined < MESSAGES_MAX
  end
  while page() do end
  write(b)
  return b.taking, want - b.left, dropped
end

local before, lease_before = next_due()
local after, lease_after = before, lease_before
local is_due = before and before <= now
if is_due then
  expire()
end
local shrunk = skip_old(last.n)
local purged = purge()
local refilled = refill(largest)
shrunk = refilled or shrunk
local quota = most
if state.n < last.n or state.src > 0 then -- an odd one of two halves falls to either, so that of a lease of one, too, both have their turn
  quota = math.floor((most + (jitter < 0.5 and 1 or 0)) / 2)
end
if is_due or refilled then
  shrunk = again(quota) or shrunk
  table.sort(taken, function(a, b) return a[1] < b[1] end)
  after, lease_after = next_due()
end

local room = bound - redis.call('ZCARD', OUT)
local want = math.min(most - #taken, room)
local function took(taking, leased)
  room = room - taking
  want = math.min(want - leased, room)
  if leased > 0 then
    after, lease_after = math.min(after or until_, until_), math.min(lease_after or until_, until_)
  end
end
if want > 0 and purged and state.src > 0 and looked < BYTES_MAX then
  local taking, leased, dropped = from_source(want, room)
  took(taking, leased)
  shrunk = shrunk or dropped
end
if want > 0 and purged and state.src == 0 and state.n < last.n and looked < BYTES_MAX and examined < MESSAGES_MAX then
  took(new(want, room))
end
if #taken == 0 and quota == 0 and (is_due or refilled) then -- nothing new could be leased
  shrunk = again(most) or shrunk
  after, lease_after = next_due()
end
local news = state.n < last.n or state.src > 0 or any_hungry()
local held_back = room <= 0 and news and bound or 0
if held_back ~= state.bound then
  set('bound', held_back)
end
if ARGV[REST + 3] == '1' then
  set('used', now)
end
if shrunk or counted.filtered or counted.late then
  settle_floor()
end
save_queues()
save_overflows()
save()

announce_due(before, after, urgent, lease_before, lease_after)
after = after and last.due and math.min(after, last.due) or after or last.due
local more = not purged or after and after <= now or room > 0 and news
local reply, at = {OK, time_to(after), more and 1 or 0, state.epoch}, 4
for _, delivery in ipairs(taken) do
  reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4] = unpack(delivery)
  at = at + 4
end
return reply
