#!lua flags=no-writes,allow-oom
-- list_records: a page of a project's records of one kind, in order of their ids.
--
-- KEYS  1 postrider:{p:PROJECT}:catalog  2 …:names
-- ARGV  1 after which name  2 before which name  3 how many
-- gives {0, then for each record: its name, the record}
--
-- A script, since a record removed between the names and the look would leave a hole.
local names = redis.call('ZRANGE', KEYS[2], '(' .. ARGV[1], '(' .. ARGV[2], 'BYLEX', 'LIMIT', 0, ARGV[3])
local reply = {0}
for i = 1, #names, 200 do
  local some = {unpack(names, i, math.min(i + 199, #names))}
  for j, record in ipairs(redis.call('HMGET', KEYS[1], unpack(some))) do
    reply[#reply + 1], reply[#reply + 2] = some[j], record
  end
end
return reply
