#!lua
-- redrive: puts dead letters back to where they came from, due at once and with all attempts before them.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB  23 …:taken
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
--       5 most that may be outstanding  6 '1' if no lease may be taken away  7 ms for which the topic remembers what it took
--       then for each: DEADTOPIC:ID of the dead letter, padded id, h without the sum, d
-- gives {0, then of each: 1 it is there  2 not now, something stands in its way  3 too many are outstanding}
--
-- A script, since of two servers that do the same one must find that the other was first. It remembers what it took, so that a
-- message is not put back a second time when it was acked between that and the removal of the dead letter.
-- Without allow-oom: a full Redis refuses it before its first write.
local THERE, BUSY, FULL = 1, 2, 3
local TAKEN, bound, gentle, remember = KEYS[23], tonumber(ARGV[5]), ARGV[6] == '1', tonumber(ARGV[7])
local before, placed = next_due(), 0

forget_old(TAKEN, remember)

-- stand_in_queue gives a message its place among those of its key, before the later ones: what of these is leased comes again
-- after it. It gives whether it is the first; nil when it has to wait.
local function stand_in_queue(member)
  local key = key_of(member)
  local head = queue(key, 1)[1]
  local first = not head or place_of(member) < head
  if head and first then
    local at_head = member_at(head)
    if redis.call('ZSCORE', DEAD, at_head) or gentle and redis.call('ZSCORE', LEASED, at_head) then
      return nil
    end
    redis.call('ZREM', WAITING, at_head)
  end
  enqueue(key, letters.bare(member))
  if state.over > 0 then
    redis.call('ZREM', HUNGRY, key)
  end
  send_back(member)
  return first
end

-- stand_in_source gives a message its place in the source, where that has earlier ones, which may be of its key.
local function stand_in_source(member, size)
  local _, n = in_source()
  if not n or n > n_of(member) then
    return false
  end
  redis.call('ZADD', SOURCE, n_of(member), member)
  set('src', state.src + 1)
  set('srcbytes', state.srcbytes + size)
  return true
end

local function keep_letter(member, letter)
  redis.call('ZADD', letters.at, now, letters.bare(member))
  redis.call('HSET', letters.kept, letters.bare(member), letter)
  set('red', state.red + 1)
end

local function put_back(member, h, d)
  if redis.call('ZSCORE', DEAD, member) or state.purge ~= '' then
    return BUSY
  end
  if redis.call('ZSCORE', OUT, member) or in_source_as(member) or is_ahead(member) or is_left(member) then
    return THERE
  end
  local size, key = tonumber(string.sub(h, 18, 25), 16), key_of(member)
  if key and stand_in_source(member, size) then
    keep_letter(member, h .. d)
    placed = placed + 1
    return THERE
  end
  if redis.call('ZCARD', OUT) >= bound then
    return FULL
  end
  local first = true
  if key then
    first = stand_in_queue(member)
    if first == nil then
      return BUSY
    end
  end
  redis.call('ZADD', OUT, n_of(member), member)
  if first then
    redis.call('ZADD', WAITING, now, member)
  end
  set_counts(member, now, now) -- higher than any number that it had
  keep_letter(member, h .. d)
  set('bytes', state.bytes + size)
  placed = placed + 1
  return THERE
end

local reply = {OK}
for i = 8, #ARGV, 4 do
  local fate = THERE
  if not is_taken(TAKEN, remember, ARGV[i]) then
    fate = put_back(ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
    if fate == THERE then
      redis.call('ZADD', TAKEN, now, ARGV[i])
    end
  end
  reply[#reply + 1] = fate
end
if placed > 0 then
  settle_floor()
end
save_queues()
save()
announce_due(before, next_due(), false)
return reply
