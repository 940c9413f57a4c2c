#!lua
-- append_dead: appends dead letters that the topic has not taken yet.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors  5 …:taken
-- ARGV  1 now or ''  2 revision  3 wake channel  4 salt, four digits
--       5 ms for which every message is kept
--       6 how long, in ms, the log keeps these when nothing is attached
--       7 how long, in ms, the topic remembers what it took
--       then for each message: SOURCE:ID, h without its sum, d
-- gives {0}
--
-- A script, since looking up what was taken, appending and remembering must be one step: a repeated move adds no copy.
local salt, keep, remember = ARGV[4], tonumber(ARGV[6]), tonumber(ARGV[7])

forget_old(TAKEN, remember)

local before = n
for i = 8, #ARGV, 3 do
  if redis.call('ZADD', TAKEN, 'NX', now, ARGV[i]) == 1 then
    append(ARGV[i + 1], ARGV[i + 2], salt, true)
  end
end
save_end()
if n > before then
  if redis.call('HLEN', SUBS) > 0 then
    announce('p')
  else
    redis.call('HSET', META, 'kept', n, 'keep', keep)
  end
end
return {OK}
