#!lua flags=allow-oom
-- note_project: puts a project on the list of all, before its first record is written.
--
-- KEYS  1 postrider:{fleet}:projects  2 postrider:{fleet}:format
-- ARGV  1 project  2 the format that is known
-- gives {0}
--
-- A script, since a store that is being moved takes no more projects: its list has been read.
local format = redis.call('GET', KEYS[2])
if format and format ~= ARGV[2] then
  return {3, KEYS[2], format}
end
redis.call('SADD', KEYS[1], ARGV[1])
return {0}
