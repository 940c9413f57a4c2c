#!lua flags=allow-oom
-- remove_record: removes a record that begins as expected.
--
-- KEYS  1 postrider:{p:PROJECT}:catalog  2 …:names
-- ARGV  1 name in the catalog: t/ID or s/ID  2 what the present record must begin with: version, uid
-- gives {0, 1 if it was removed}
--
-- A script, since the hash and the sorted names must agree, and only the record that was meant may go.
local present = redis.call('HMGET', KEYS[1], ARGV[1], 'v')
if present[2] then
  return {3, KEYS[1], present[2]} -- it is being moved
end
if not present[1] or string.sub(present[1], 1, #ARGV[2]) ~= ARGV[2] then
  return {0, 0}
end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return {0, 1}
