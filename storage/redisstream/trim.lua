#!lua flags=allow-oom
-- trim: cuts a bounded number of entries that nobody needs off the log.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
-- ARGV  1 now or ''
-- gives {0, 1 if more can be cut}
--
-- A script, since what is needed must not change between the look and the cut.
return {OK, trim(true) and 1 or 0}
