#!lua flags=allow-oom
-- confirm: settles messages for good, each by an ack of its current lease, and tells which acks did. An ack that did is
-- remembered until its lease would have ended.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
--       then for each receipt: padded id, delivery number, epoch, size; at most 200, in order of the log
-- gives {0, then for each receipt: 0 it is settled, 1 its lease is over, 2 an earlier message of its key is outstanding}
--
-- A script, since what is told must be what happened: a lease that ends meanwhile may be somebody else's.
local DONE, OVER, EARLY = 0, 1, 2
local before = next_due()

-- name_of is how an ack is remembered.
local function name_of(at)
  return string.format('%s#%s#%s', string.sub(ARGV[at], 1, 30), ARGV[at + 1], ARGV[at + 2])
end

-- forget_confirmed drops what need not be remembered any more: more than one step adds, so that it cannot pile up.
local function forget_confirmed()
  local old = redis.call('ZRANGE', CONFIRMED, '-inf', now, 'BYSCORE', 'LIMIT', 0, 2 * MESSAGES_MAX)
  if #old > 0 then
    redis.call('ZREM', CONFIRMED, unpack(old))
  end
end

-- remember adds acks. When none follow the whole set goes with the last of them, unless a test keeps the time.
local function remember(acks, last)
  if #acks == 0 then
    return
  end
  redis.call('ZADD', CONFIRMED, unpack(acks))
  if ARGV[1] == '' then
    redis.call('PEXPIRE', CONFIRMED, math.max(redis.call('PTTL', CONFIRMED), last - now + 1000))
  end
end

local function is_early(member)
  return key_of(member) and not is_head(member)
end

local gone, acks, last, result, keyed = {}, {}, 0, {}, false
for _, receipt in ipairs(current(5, 4)) do
  local member = receipt.member
  if is_early(member) then
    result[receipt.at] = EARLY
  else
    result[receipt.at] = DONE
    gone[#gone + 1] = member
    set('bytes', state.bytes - tonumber(ARGV[receipt.at + 3]))
    acks[#acks + 1], acks[#acks + 2] = receipt.ends, name_of(receipt.at)
    last = math.max(last, receipt.ends)
    if key_of(member) then
      keyed = true
      leave(member)
    end
  end
end

local reply, names, places = {OK}, {}, {}
for i = 5, #ARGV, 4 do
  reply[#reply + 1] = result[i] or OVER
  if not result[i] then
    names[#names + 1], places[#places + 1] = name_of(i), #reply
  end
end
if #names > 0 then
  for i, until_ in ipairs(redis.call('ZMSCORE', CONFIRMED, unpack(names))) do
    if until_ and tonumber(until_) > now then
      reply[places[i]] = DONE
    end
  end
end
forget_confirmed()
remember(acks, last)
set('used', now)
settled(gone, 'acked', keyed, before)
return reply
