#!lua flags=allow-oom
-- insert_record: adds a record to a project's catalog unless its name has one.
--
-- KEYS  1 postrider:{p:PROJECT}:catalog  2 …:names
-- ARGV  1 name in the catalog: t/ID or s/ID  2 record
-- gives {0, 1 if it was added}
--
-- A script, since the hash and the sorted names must agree.
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then
  return {0, 0}
end
redis.call('ZADD', KEYS[2], 0, ARGV[1])
return {0, 1}
