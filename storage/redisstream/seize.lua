#!lua flags=allow-oom
-- seize: makes the first outstanding message of a key dead, for who will take it away.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5 padded id  6 epoch  7 ms to hold it
-- gives {0, 1 if it did}
--
-- A script, since of two who want the message, or of one and an ack, one must come first.
local member, before = ARGV[5], next_due()

-- is_free tells whether the message is there, before all others of its key, and not held.
local function is_free()
  if tonumber(ARGV[6]) ~= state.epoch or not redis.call('ZSCORE', OUT, member) or key_of(member) and not is_head(member) then
    return false
  end
  return tonumber(redis.call('ZSCORE', DEAD, member) or 0) <= now
end

local seized = is_free()
if seized then
  redis.call('ZREM', LEASED, member)
  redis.call('ZREM', WAITING, member)
  redis.call('ZADD', DEAD, now + tonumber(ARGV[7]), member)
end
save()
announce_due(before, next_due(), false)
return {OK, seized and 1 or 0}
