#!lua flags=allow-oom
-- replace_record: puts a record in place of the one that begins as expected.
--
-- KEYS  1 postrider:{p:PROJECT}:catalog
-- ARGV  1 name in the catalog: t/ID or s/ID  2 what the present record must begin with: version, uid, revision  3 record
-- gives {0, 1 if it was replaced}
--
-- A script, since the comparison and the write must be one step.
local present = redis.call('HMGET', KEYS[1], ARGV[1], 'v')
if present[2] then
  return {3, KEYS[1], present[2]} -- it is being moved
end
if not present[1] or string.sub(present[1], 1, #ARGV[2]) ~= ARGV[2] then
  return {0, 0}
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return {0, 1}
