#!lua flags=allow-oom
-- share: tells all servers what a survey found.
--
-- KEYS  1 postrider:{fleet}:survey  2 postrider:{fleet}:findings  3 postrider:{fleet}:found
-- ARGV  1 a random number  then for each finding: UID, ms, the finding (finding.go); at most 100
-- gives {0}
--
-- survey is a hash: life, a random number for as long as the store lives, and seq, which counts findings. findings is a hash
-- from UID to ms and the finding, found a sorted set from UID to the seq that the finding got.
--
-- A script, so that an older finding never takes the place of a newer one, and whoever reads misses none.
redis.call('HSETNX', KEYS[1], 'life', ARGV[1])
for i = 2, #ARGV, 3 do
  local known = redis.call('HGET', KEYS[2], ARGV[i])
  if not known or tonumber(string.match(known, '^%d+')) <= tonumber(ARGV[i + 1]) then
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1] .. ' ' .. ARGV[i + 2])
    redis.call('ZADD', KEYS[3], redis.call('HINCRBY', KEYS[1], 'seq', 1), ARGV[i])
  end
end
return {0}
