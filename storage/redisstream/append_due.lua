#!lua flags=allow-oom
-- append_due: appends messages that are due.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors  5 …:delayed  6 …:delays
-- ARGV  1 now or ''  2 ''  3 wake channel
-- gives {0, ms until the next is due or -1}
--
-- A script, since the end of the log, what is delayed and what is attached must be of one moment.
local meta = redis.call('HMGET', META, 'v', 'closed')
if not meta[1] or meta[2] then
  return {OK, -1}
end
if meta[1] ~= FORMAT then
  return {UNKNOWN, META, meta[1]}
end
local due = read_end().due
return {OK, due and math.max(0, due - now) or -1}
