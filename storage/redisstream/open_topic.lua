#!lua flags=allow-oom
-- open_topic: makes a topic's slot ready. A closed one stays closed.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
-- ARGV  1 now or ''  2 revision  3 wake channel  4 ms for which every message is kept
-- gives {0}
--
-- A script, since a slot that another server closed meanwhile must not be opened.
local meta = redis.call('HMGET', META, 'v', 'closed', 'rev')
if meta[1] and meta[1] ~= FORMAT then
  return {UNKNOWN, META, meta[1]}
end
if meta[2] then
  return {GONE}
end
if meta[1] and tonumber(ARGV[2]) < tonumber(meta[3]) then
  return {STALE}
end
if meta[1] then
  redis.call('HSET', META, 'rev', ARGV[2])
else
  redis.call('HSET', META, 'v', FORMAT, 'rev', ARGV[2], 'n', 0, 'ms', 0, 'sum', 0, 'max', 0)
end
retain('retention', tonumber(ARGV[4]))
return {OK}
