#!lua flags=allow-oom
-- insert_record: adds a record to a project's catalog unless its name has one.
--
-- KEYS  1 postrider:{p:PROJECT}:catalog  2 …:names
-- ARGV  1 name in the catalog: t/ID or s/ID  2 record
-- gives {0, 1 if it was added}
--
-- A script, since the hash and the sorted names must agree.
local present = redis.call('HMGET', KEYS[1], ARGV[1], 'v')
if present[2] then
  return {3, KEYS[1], present[2]} -- it is being moved
end
if present[1] then
  return {0, 0}
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], 0, ARGV[1])
return {0, 1}
