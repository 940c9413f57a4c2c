#!lua flags=allow-oom
-- peek: messages that are not acked, without leasing them.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
--       5 the part where to begin: 0 behind the cursor, 1 left in the log by keys, 2 ahead of the cursor
--       6 the id after which to begin there  7 most messages  8 retention in ms  9 '1' if order is kept
-- gives {0, 1 if there may be more, the part and the id where to go on, ms and n of the last message published, epoch,
--        then for each: padded id, delivery number, attempt, d, the lines of its failed attempts (failures.lua) or '',
--        1 new 2 leased 3 waiting 4 parked 5 dead, ms when a lease or a wait ends or 0}
--
-- A script, since a message that is acked meanwhile must not be shown, nor one twice that is leased meanwhile.
local NEW, IN_LEASE, IN_WAIT, PARKED, IN_DEAD = 1, 2, 3, 4, 5
local part, after_id, ordered = tonumber(ARGV[5]), ARGV[6], ARGV[9] == '1'
local most = math.min(math.max(tonumber(ARGV[7]), 1), MESSAGES_MAX)
local last = redis.call('HMGET', META, 'n', 'ms', 'max', 'retention')
local cutoff = now - math.max(tonumber(ARGV[8]), tonumber(last[4] or 0))
local largest = math.max(1, tonumber(last[3]))
local seen, looked, reply = 0, 0, {}

local function full()
  return seen >= most or looked >= BYTES_MAX
end

local function show(member, entry, number, attempt, standing, ends, failures_)
  for _, value in ipairs({member, number, attempt, entry[2][4], failures_ or '', standing, ends}) do
    reply[#reply + 1] = value
  end
end

-- later tells whether the id of a member is higher than another.
local function later(member, id)
  return string.sub(member, 1, 30) > member_of(id)
end

-- unacked_behind gives members behind the cursor that are not acked, after an id, in order: outstanding ones, and those of the
-- source.
local function unacked_behind()
  local low, high = purge_range()
  local found, is_new = {}, {}
  for _, key in ipairs({OUT, SOURCE}) do
    local from = first_rank(key, function(member) return later(member, after_id) end)
    if key == SOURCE and low then
      from = math.max(from, redis.call('ZCOUNT', key, '-inf', low))
    end
    local members = redis.call('ZRANGE', key, from, from + most, 'WITHSCORES')
    for i = 1, #members, 2 do
      if key == OUT or not high or tonumber(members[i + 1]) <= high then
        found[#found + 1], is_new[members[i]] = members[i], key == SOURCE
      end
    end
  end
  table.sort(found)
  return found, is_new
end

-- standings gives where outstanding members stand: a number and until when; false for what was acked provisionally.
local function standings(members)
  local at = {}
  for i, member in ipairs(members) do
    at[i] = {PARKED}
    if redis.call('HEXISTS', ACKED, member) == 1 then
      at[i] = false
    end
  end
  for standing, key in pairs({[IN_LEASE] = LEASED, [IN_WAIT] = WAITING, [IN_DEAD] = DEAD}) do
    for i, score in ipairs(redis.call('ZMSCORE', key, unpack(members))) do
      if score then
        at[i] = {standing, standing ~= IN_DEAD and tonumber(score)}
      end
    end
  end
  return at
end

local function behind_cursor()
  local found, is_new = unacked_behind()
  local members = {unpack(found, 1, math.min(#found, most - seen))}
  if #members == 0 then
    return true
  end
  local failed_ = redis.call('HMGET', FAILURES, unpack(members))
  local stored = redis.call('HMGET', DELIVERIES, unpack(members))
  local at = standings(members)
  for i, member in ipairs(members) do
    if full() then
      return false
    end
    local id = id_of(member)
    local entry = letters.entry_of(member)
    seen, after_id = seen + 1, id
    if entry and at[i] then
      local _, size = read(entry)
      looked = looked + size
      local number, back = string.match(stored[i] or (at[i][1] == PARKED and '0:0' or '1:0'), '^(%d+):(%d+)$')
      if letters.time_of(member) < cutoff then -- the next sweep drops it
      elseif is_new[member] then
        local key = ordered and key_in(entry)
        show(member_of(id) .. (key and ':' .. key or ''), entry, 0, 0, NEW, 0)
      else
        show(member, entry, tonumber(number), number - back, at[i][1], at[i][2] or 0, failed_[i])
      end
    end
  end
  return #found == #members
end

-- in_log shows those of the log between two places that are to be shown. It reads no more at once than the largest message ever
-- allows, and goes on while what it saw was smaller.
local function in_log(from, to, which)
  local entries, count_
  repeat
    count_ = math.max(1, math.min(most - seen, math.floor((BYTES_MAX - looked) / largest)))
    entries = redis.call('XRANGE', LOG, '(' .. from, to, 'COUNT', count_)
    for _, entry in ipairs(entries) do
      if full() then
        return false
      end
      local n, size = read(entry)
      seen, looked, after_id, from = seen + 1, looked + size, entry[1], entry[1]
      if ms_of(member_of(entry[1])) >= cutoff and which(entry, n) then
        local key = ordered and key_in(entry)
        show(member_of(entry[1]) .. (key and ':' .. key or ''), entry, 0, 0, NEW, 0)
      end
    end
  until #entries < count_ or full()
  return #entries < count_ or #redis.call('XRANGE', LOG, '(' .. from, to, 'COUNT', 1) == 0
end

local function left_in_log()
  if state.over == 0 then
    return true
  end
  local from = overflow_of(redis.call('ZRANGE', OVERFLOWED, 0, 0)[1]).after
  return in_log(later(member_of(from), after_id) and from or after_id, state.id, function(entry, n)
    local key = key_in(entry)
    return key and n >= tonumber(redis.call('ZSCORE', OVERFLOWED, key) or '+inf')
  end)
end

local function ahead_of_cursor()
  return in_log(later(member_of(state.id), after_id) and state.id or after_id, '+', function() return true end)
end

local parts = {[0] = behind_cursor, [1] = left_in_log, [2] = ahead_of_cursor}
local ended = parts[part]()
while ended and part < 2 do
  part, after_id = part + 1, '0-0'
  ended = parts[part]()
end
save()
return {OK, ended and 0 or 1, part, after_id, tonumber(last[2]), tonumber(last[1]), state.epoch, unpack(reply)}
