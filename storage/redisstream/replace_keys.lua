#!lua flags=allow-oom
-- replace_keys: puts one text of signing keys in place of another.
--
-- KEYS  1 postrider:{fleet}:signing
-- ARGV  1 what must be there, '' for nothing  2 what is to be there
-- gives {0, 1 if it was replaced}
--
-- A script, since the comparison and the write must be one step.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return {0, 0}
end
redis.call('SET', KEYS[1], ARGV[2])
return {0, 1}
