#!lua flags=allow-oom
-- trim: cuts a bounded number of entries that nobody needs off the log, and forgets dead letters that were taken long ago.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors  5 …:taken
-- ARGV  1 now or ''  2 ms for which the topic remembers what it took
-- gives {0, 1 if more can be cut}
--
-- A script, since what is needed must not change between the look and the cut.
forget_old(KEYS[5], tonumber(ARGV[2]))
return {OK, trim(true) and 1 or 0}
