#!lua flags=allow-oom
-- lease: hands out messages, those due again before new ones.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5… rules (rules.lua)
--       then: most messages, most bytes, lease in ms, '1' if it counts as a use
-- gives {0, ms until the next is due or -1, 1 if more can be leased now, epoch,
--        then for each delivery: padded id, delivery number, attempt, d}
--
-- A script, since the cursor, the deadlines and the counters must move together, and never for two callers at once.
local most = math.min(math.max(tonumber(ARGV[REST]), 1), MESSAGES_MAX)
local most_bytes = math.min(tonumber(ARGV[REST + 1]), BYTES_MAX)
local until_ = now + tonumber(ARGV[REST + 2])
local meta = redis.call('HMGET', META, 'n', 'ms', 'sum', 'max')
local last = {n = tonumber(meta[1]), ms = tonumber(meta[2]), sum = tonumber(meta[3])}
local largest = math.max(1, tonumber(meta[4]))

local taken = {} -- {member, number, attempt, d}
local bytes = 0 -- of what was taken
local looked = 0 -- bytes that were read

-- fits tells whether a message may be taken, too: one always may.
local function fits(size)
  return #taken == 0 or bytes + size <= most_bytes
end

local function take(member, number, attempt, size, data)
  taken[#taken + 1] = {member, number, attempt, data}
  bytes = bytes + size
end

-- again leases up to quota messages that wait and are due. What has vanished or is too old is dropped on the way, and what
-- has had all its attempts, since their number was lowered, is dead. It tells whether anything was dropped, and died.
local function again(quota)
  local seen, gone, dead, lease, delivery_args = 0, {}, {}, {}, {}
  local function look(member, number, released)
    local id = id_of(member)
    local entry = redis.call('XRANGE', LOG, id, id)[1]
    if not entry then
      count('lost', 1)
      gone[#gone + 1] = member
      return true
    end
    local _, size = read(entry)
    looked = looked + size
    if ms_of(member) < cutoff then
      count('dropped', 1)
      set('bytes', state.bytes - size)
      gone[#gone + 1] = member
      return looked < BYTES_MAX
    end
    if not fits(size) then
      return false
    end
    take(member, number + 1, number + 1 - released, size, entry[2][4])
    lease[#lease + 1], lease[#lease + 2] = until_, member
    delivery_args[#delivery_args + 1] = member
    delivery_args[#delivery_args + 1] = string.format('%.0f:%.0f', number + 1, released)
    return looked < BYTES_MAX
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
      elseif not look(member, numbers[i], released[i]) then
        return false
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
  return #gone > 0, #dead > 0
end

-- advance moves the cursor. Of the messages that it passes so many were found: the others have vanished.
local function advance(id, n, sum, found)
  count('lost', n - state.n - found)
  set('id', id)
  set('n', n)
  set('sum', sum)
end

-- new leases up to want messages from behind the cursor and gives their number. A first delivery leaves no trace in
-- deliveries.
local function new(want)
  local lease, out_args, left, before = {}, {}, want, bytes
  local function page()
    local count_ = math.min(left, math.max(1, math.floor((most_bytes - bytes) / largest)))
    local entries = redis.call('XRANGE', LOG, '(' .. state.id, '+', 'COUNT', count_)
    local found, at = 0, nil
    for i, entry in ipairs(entries) do
      local n, size = read(entry)
      if not fits(size) then
        break
      end
      local member = member_of(entry[1])
      take(member, 1, 1, size, entry[2][4])
      lease[#lease + 1], lease[#lease + 2] = until_, member
      out_args[#out_args + 1], out_args[#out_args + 2] = n, member
      found, at = i, n
    end
    if found > 0 then
      advance(entries[found][1], at, sum_of(entries[found]), found)
      left = left - found
    end
    if found < #entries then
      return false
    end
    if #entries < count_ and state.n < last.n then -- what n says lies ahead is not there
      advance(string.format('%.0f-%.0f', last.ms, last.n * 10000 + 9999), last.n, last.sum, 0)
    end
    return left > 0 and state.n < last.n
  end
  while page() do end
  set('bytes', state.bytes + bytes - before)
  if #lease > 0 then
    redis.call('ZADD', LEASED, unpack(lease))
    redis.call('ZADD', OUT, unpack(out_args))
  end
  return want - left
end

local before, lease_before = next_due()
local after, lease_after = before, lease_before
local is_due, died = before and before <= now, false
if is_due then
  died = expire()
end
local shrunk = skip_old(last.n)
if is_due then
  local quota = state.n < last.n and math.ceil(most / 2) or most
  local some_gone, some_died = again(quota)
  shrunk, died = some_gone or shrunk, some_died or died
  table.sort(taken, function(a, b) return a[1] < b[1] end)
  after, lease_after = next_due()
end

local room = bound - redis.call('ZCARD', OUT)
local want = math.min(most - #taken, room)
if want > 0 and state.n < last.n and looked < BYTES_MAX then
  local leased = new(want)
  room = room - leased
  if leased > 0 then
    after, lease_after = math.min(after or until_, until_), math.min(lease_after or until_, until_)
  end
end
local held_back = room <= 0 and state.n < last.n and bound or 0
if held_back ~= state.bound then
  set('bound', held_back)
end
if ARGV[REST + 3] == '1' then
  set('used', now)
end
if shrunk then
  settle_floor()
end
save()

announce_due(before, after, died, lease_before, lease_after)
local more = after and after <= now or room > 0 and state.n < last.n
local reply = {OK, time_to(after), more and 1 or 0, state.epoch}
for _, delivery in ipairs(taken) do
  for i = 1, 4 do
    reply[#reply + 1] = delivery[i]
  end
end
return reply
