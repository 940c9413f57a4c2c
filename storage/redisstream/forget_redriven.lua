#!lua flags=allow-oom
-- forget_redriven: has a topic remember some dead letters only a while longer.
--
-- KEYS  1 postrider:{UID:0}:taken
-- ARGV  1 now or ''  2 ms for which the topic remembers what it took  3 ms for which it still remembers these
--       then of each: letter:DEADTOPIC:ID
-- gives {0}
--
-- A script, since the time is Redis's, and a name that was forgotten meanwhile must not come back.
local TAKEN, remember = KEYS[1], tonumber(ARGV[2])
for i = 4, #ARGV do
  if is_taken(TAKEN, remember, ARGV[i]) then
    redis.call('ZADD', TAKEN, now - remember + tonumber(ARGV[3]), ARGV[i])
  end
end
return {0}
