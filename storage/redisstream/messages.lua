-- How many messages, and how many bytes of them, one script handles at most.
local MESSAGES_MAX, BYTES_MAX = 200, 1000000

-- Message ids and log entries. A member of leased, waiting, dead and out is a message id with both parts padded, so that
-- text sorts as the log does; of the second part the last four digits are the batch's salt and the rest is n. Of a message
-- that is delivered in order, a colon and the hash of its key follow.
local function member_of(id)
  local dash = string.find(id, '-', 1, true)
  local padding = string.sub('0000000000000000', #id - dash + 1)
  if dash == 14 then -- from 2001 to 2286
    return string.sub(id, 1, 14) .. padding .. string.sub(id, 15)
  end
  return string.rep('0', 14 - dash) .. string.sub(id, 1, dash) .. padding .. string.sub(id, dash + 1)
end

local function id_of(member)
  return string.format('%.0f-%.0f', tonumber(string.sub(member, 1, 13)), tonumber(string.sub(member, 15, 30)))
end

local function ms_of(member)
  return tonumber(string.sub(member, 1, 13))
end

-- read gives n and the size of an entry of the log, and n as text: what becomes a score should be text, since printing a number
-- takes Redis longer than adding it. sum_of is the running sum of sizes up to and with an entry.
local function read(entry)
  local id, h = entry[1], entry[2][2]
  local version = string.byte(h)
  if version ~= 49 and version ~= 50 then -- 1, or 2 with a time to live
    error('entry ' .. id .. ' of ' .. LOG .. ' has an unknown version')
  end
  local place = string.sub(id, string.find(id, '-', 1, true) + 1, -5)
  return tonumber(place), tonumber(string.sub(h, 18, 25), 16), place
end

-- Redriven messages are not in the log any more, or are there without their history: redriven has when each came back, which its
-- age counts from, and letters its entry, h without the sum and then d. Both name it by its padded id alone.
function letters.bare(member)
  return string.sub(member, 1, 30)
end

-- letters.n_of is the n in a padded id. There may be 100,000 letters: who goes through all of them reads no more than it must.
function letters.n_of(member)
  return tonumber(string.sub(member, 15, 26))
end

-- letters.entry_of is the entry of a message that is unacked; nil when it has vanished.
function letters.entry_of(member)
  local id = id_of(member)
  local letter = state.red > 0 and redis.call('HGET', letters.kept, letters.bare(member))
  if letter then
    return {id, {'h', string.sub(letter, 1, 25) .. '0', 'd', string.sub(letter, 26)}}
  end
  return redis.call('XRANGE', LOG, id, id)[1]
end

-- letters.head_of gives the size and the hash of the key, nil without one, of what was redriven.
function letters.head_of(letter)
  local stored = redis.call('HGET', letters.kept, letter)
  if not stored then
    return 0, nil
  end
  local key = string.sub(stored, 2, 17)
  return tonumber(string.sub(stored, 18, 25), 16), key ~= '0000000000000000' and key or nil
end

-- letters.time_of is from when on the retention of a message counts.
function letters.time_of(member)
  return tonumber(state.red > 0 and redis.call('ZSCORE', letters.at, letters.bare(member)) or ms_of(member))
end

-- letters.forget forgets what of members was redriven, all of them or some.
function letters.forget(members, first, last)
  if state.red == 0 then
    return
  end
  local ids = {}
  for i = first or 1, last or #members do
    ids[#ids + 1] = letters.bare(members[i])
  end
  local gone = #ids > 0 and redis.call('ZREM', letters.at, unpack(ids)) or 0
  if gone > 0 then
    redis.call('HDEL', letters.kept, unpack(ids))
    set('red', state.red - gone)
  end
end

-- letters.any_old tells whether the eldest of a set, in order of the log, are older than a time. What was redriven may stand before
-- what is older.
function letters.any_old(key, cutoff_)
  for _, member in ipairs(redis.call('ZRANGE', key, 0, math.min(state.red, MESSAGES_MAX))) do
    if ms_of(member) >= cutoff_ then
      return false
    end
    if letters.time_of(member) < cutoff_ then
      return true
    end
  end
  return false
end

-- key_in is the hash of an entry's key; nil without one.
local function key_in(entry)
  local key = string.sub(entry[2][2], 2, 17)
  return key ~= '0000000000000000' and key or nil
end

-- over_of is the ms at which an entry's time to live is over; nil without one.
local function over_of(entry)
  return string.byte(entry[2][2]) == 50 and tonumber(string.sub(entry[2][2], 26, 38)) or nil
end

local function sum_of(entry)
  return tonumber(string.sub(entry[2][2], over_of(entry) and 39 or 26))
end

-- counts_of gives the delivery number and the released count of each member. Most messages are delivered once and have
-- no field, which then stands for that, or for another one that is given.
local function counts_of(members, absent)
  local numbers, released = {}, {}
  if #members > 0 then
    for i, stored in ipairs(redis.call('HMGET', DELIVERIES, unpack(members))) do
      local number, back = string.match(stored or absent or '1:0', '^(%d+):(%d+)$')
      numbers[i], released[i] = tonumber(number), tonumber(back)
    end
  end
  return numbers, released
end

-- head_of is the lowest score of a sorted set.
local function head_of(key)
  return tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
end

-- next_due is when the first lease runs out or the first wait is over, and when the first lease runs out; nil for what is
-- not.
local function next_due()
  local lease, wait = head_of(LEASED), head_of(WAITING)
  return lease and wait and math.min(lease, wait) or lease or wait, lease
end

-- time_to is the ms until then, 0 when that has passed; -1 without a time.
local function time_to(ms)
  return ms and math.max(0, ms - now) or -1
end

-- announce_due tells waiters when something is due earlier than before, or at once if they should just try. It also tells
-- when a lease runs out earlier than any did before, though something waits already: sweeps wait for leases alone.
local function announce_due(before, after, try, lease_before, lease_after)
  if try then
    announce('d ' .. SUB .. ' 0')
  elseif after and (not before or after < before) then
    announce(string.format('d %s %.0f', SUB, time_to(after)))
  elseif lease_after and (not lease_before or lease_after < lease_before) then
    announce(string.format('d %s %.0f', SUB, time_to(lease_after)))
  end
end

-- move puts members with their scores, alternating as ZADD takes them, from one set into another.
local function move(from, to, scored)
  if #scored > 0 then
    local members = {}
    for i = 2, #scored, 2 do
      members[#members + 1] = scored[i]
    end
    redis.call('ZREM', from, unpack(members))
    redis.call('ZADD', to, unpack(scored))
  end
end
