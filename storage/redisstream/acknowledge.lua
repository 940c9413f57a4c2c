#!lua flags=allow-oom
-- acknowledge: settles messages for good, whatever their state and delivery, but for what an ordering key forbids.
-- settle_dead does the same for moved ones.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5 the counter: 'acked' or 'moved'
--       then for each receipt: padded id, delivery number, epoch, size; at most 200
-- gives {0}
--
-- A script, since the counters and the floor of the log must follow exactly from what was still outstanding.
local members, sizes, numbers, order = {}, {}, {}, false -- sizes and numbers as text
local epoch = string.format('%.0f', state.epoch)
for i = 6, #ARGV, 4 do
  if ARGV[i + 2] == epoch then
    local at = #members + 1
    members[at], numbers[at], sizes[at] = ARGV[i], ARGV[i + 1], ARGV[i + 3]
    order = order or key_of(ARGV[i]) ~= nil
  end
end
-- Where all that is outstanding is leased, and no key has two, each is the head of its queue and nothing stands behind it: its key
-- need not be looked at.
local alone = order and state.over == 0 and redis.call('EXISTS', ORDER) == 0
  and redis.call('ZCARD', LEASED) == redis.call('ZCARD', OUT)
local before = nil
local leased = {} -- by member, with order: whether it is
if order and not alone then
  before = next_due()
  local keys = {}
  for _, member in ipairs(members) do
    keys[#keys + 1] = key_of(member)
  end
  load_queues(keys)
  for i, at in ipairs(redis.call('ZMSCORE', LEASED, unpack(members))) do
    leased[members[i]] = at
  end
end
local gone = {}
local ended = {} -- keys of which nothing is outstanding any more, where all are alone

local late = {} -- keys whose head went here by a late ack, while nobody held it: it does not come again, nor need what follows

-- counts tells whether an ack of the head of a queue does. What was sent back comes again after the one before it, unless
-- that went by a late ack, too.
local function counts(member, number)
  local key = key_of(member)
  if ARGV[5] ~= 'acked' or leased[member] then
    late[key] = nil
    return true
  end
  local newest = counts_of({member})[1]
  late[key] = number == newest or late[key] and number == newest - 1
  return late[key]
end

-- is_redriven_since tells whether a dead message came back since a delivery: a server that was slow to say so had moved it.
local function is_redriven_since(member, number)
  local at = state.red > 0 and tonumber(redis.call('ZSCORE', letters.at, letters.bare(member)) or nil)
  return at and number < at and counts_of({member})[1] >= at
end

-- settle takes an outstanding message; one that is not the head of its queue goes when those before it have gone, if it is
-- leased by this very delivery.
local function settle(member, size, number)
  local key = key_of(member)
  if ARGV[5] == 'moved' and is_redriven_since(member, number) then
    return
  end
  if key and alone then
    ended[#ended + 1] = key
  elseif key then
    local first = not is_alone(member) and queue(key, 2)
    if first and first[1] ~= place_of(member) then
      if leased[member] and counts_of({member})[1] == number then
        redis.call('ZREM', LEASED, member)
        leased[member] = nil
        redis.call('HSET', ACKED, member, size)
      end
      return
    end
    if not counts(member, number) then
      return
    end
    leave(member, first)
  end
  gone[#gone + 1], removed[member] = member, true
  set('bytes', state.bytes - size)
end

-- Mostly each is leased still, and named once: then all are outstanding, which is all there is to know about them. Otherwise
-- those that were leased are outstanding, too, and go all the same.
local unleased = #members > 0 and ARGV[5] == 'acked' and (not order or alone)
  and redis.call('ZREM', LEASED, unpack(members)) == #members
if unleased then
  local bytes = 0
  for i, member in ipairs(members) do
    bytes, ended[#ended + 1] = bytes + sizes[i], key_of(member)
  end
  gone = members
  set('bytes', state.bytes - bytes)
elseif #members > 0 then
  for i, n in ipairs(redis.call('ZMSCORE', OUT, unpack(members))) do
    if n and not removed[members[i]] then
      settle(members[i], tonumber(sizes[i]), tonumber(numbers[i]))
    end
  end
end
if #ended > 0 then
  redis.call('HDEL', QUEUES, unpack(ended))
end
if ARGV[5] == 'acked' then
  set('used', now)
end
settled(gone, ARGV[5], order and not alone, before, unleased)
return {OK}
