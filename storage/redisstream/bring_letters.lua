#!lua flags=allow-oom
-- bring_letters: copies a bounded number of the redriven messages that a snapshot holds, for the one call that restores it.
--
-- KEYS  1 postrider:{UID:0}:heldat:SNAP  2 …:heldletters:SNAP  3 …:brought:CALL
-- ARGV  1 the rank where to begin, 0 at first  2 ms for which what was brought is kept without the rest
-- gives {0, the rank where to go on, or -1}
--
-- A script, so that large messages do not travel, and so that what has expired meanwhile is begun anew.
local MESSAGES_MAX, BYTES_MAX = 200, 1000000
local rank, bytes = tonumber(ARGV[1]), 0
if redis.call('EXISTS', KEYS[3]) == 0 then
  rank = 0
end
local ids = redis.call('ZRANGE', KEYS[1], rank, rank + MESSAGES_MAX - 1)
for _, id in ipairs(ids) do
  local letter = redis.call('HGET', KEYS[2], id)
  rank = rank + 1
  if letter then
    redis.call('HSET', KEYS[3], id, letter)
    bytes = bytes + #letter
  end
  if bytes >= BYTES_MAX then
    break
  end
end
redis.call('PEXPIRE', KEYS[3], ARGV[2])
return {0, rank < redis.call('ZCARD', KEYS[1]) and rank or -1}
