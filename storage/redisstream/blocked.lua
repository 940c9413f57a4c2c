#!lua flags=allow-oom
-- blocked: ordering keys whose first outstanding message has failed, the longest blocked first.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
--       5 the only key, or ''  6 the ms and 7 the member after which to begin, or ''  8 most keys
-- gives {0, 1 if there may be more, then ms and member of the last that was looked at, else '', epoch,
--        then for each: padded id, delivery number, attempt, d, what is kept of its failed attempts (failures.lua), ms at the
--        first one, 1 leased 2 waiting 3 dead, ms when that ends, messages behind}
--
-- A script, since a message that is settled meanwhile must not be shown as blocking what comes after it.
local most = math.min(math.max(tonumber(ARGV[8]), 1), MESSAGES_MAX)
local looked, shown, reply = 0, 0, {}

-- place_after is the rank of the first member behind a place. The member there may have gone.
local function place_after(ms, member)
  if member == '' then
    return 0
  end
  local rank = redis.call('ZRANK', BLOCKED, member)
  return rank and rank + 1 or redis.call('ZCOUNT', BLOCKED, '-inf', '(' .. ms)
end

local function behind_of(key)
  local queued = queue_of(key) == 'm' and redis.call('ZLEXCOUNT', ORDER, '[' .. key, '[' .. key .. ':') or 1
  local left = redis.call('HGET', OVERFLOW, key)
  return queued - 1 + (left and tonumber(string.match(left, '^%d+')) or 0)
end

-- state_of tells what a head is, and when that ends.
local function state_of(member)
  for number, set in ipairs({LEASED, WAITING, DEAD}) do
    local at = redis.call('ZSCORE', set, member)
    if at then
      return number, tonumber(at)
    end
  end
  error('the head ' .. member .. ' of a key is nowhere')
end

local function show(member, since)
  local entry = letters.entry_of(member)
  if not entry then
    return -- lost; the next lease or sweep finds that out
  end
  local _, size = read(entry)
  looked = looked + size
  local numbers, released = counts_of({member})
  local number, ends = state_of(member)
  for _, value in ipairs({
    member, numbers[1], numbers[1] - released[1], entry[2][4],
    redis.call('HGET', FAILURES, member), since, number, ends, behind_of(key_of(member)),
  }) do
    reply[#reply + 1] = value
  end
  shown = shown + 1
end

-- page shows heads from a rank on. It gives the ms and the member that it came to, if that was not all.
local function page(from)
  local members = redis.call('ZRANGE', BLOCKED, from, from + MESSAGES_MAX, 'WITHSCORES')
  for i = 1, #members, 2 do
    if shown == most or looked >= BYTES_MAX or i > 2 * MESSAGES_MAX then
      return members[i - 1], members[i - 2]
    end
    if is_head(members[i]) then
      show(members[i], tonumber(members[i + 1]))
    end
  end
end

local ms, member
if ARGV[5] == '' then
  ms, member = page(place_after(ARGV[6], ARGV[7]))
else
  local head = queue(ARGV[5], 1)[1]
  head = head and member_at(head)
  local since = head and redis.call('ZSCORE', BLOCKED, head)
  if since then
    show(head, tonumber(since))
  end
end
save()
return {OK, ms and 1 or 0, ms or '', member or '', state.epoch, unpack(reply)}
