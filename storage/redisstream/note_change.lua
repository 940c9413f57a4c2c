#!lua flags=allow-oom
-- note_change: tells all servers that a record was written.
--
-- KEYS  1 postrider:{fleet}:changes
-- ARGV  1 the record's full name  2 wake channel  3 a random number
-- gives {0}
--
-- A script, to be one round trip.
local id = redis.call('EXISTS', KEYS[1]) == 1 and '*' or first_id(ARGV[3])
redis.call('XADD', KEYS[1], 'MAXLEN', '~', 10000, id, 'n', ARGV[1])
redis.call('PUBLISH', ARGV[2], 'p')
return {0}
