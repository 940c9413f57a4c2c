#!lua flags=allow-oom
-- note_change: tells all servers that a record was written.
--
-- KEYS  1 postrider:{fleet}:changes
-- ARGV  1 the record's full name  2 wake channel
-- gives {0}
--
-- A script, to be one round trip.
redis.call('XADD', KEYS[1], 'MAXLEN', '~', 10000, '*', 'n', ARGV[1])
redis.call('PUBLISH', ARGV[2], 'p')
return {0}
