#!lua flags=allow-oom
-- keep_snapshot: adopts until when a snapshot is kept, with a higher revision, and tells how long that is.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors  5 …:snapshot:SNAP
-- ARGV  1 now or ''  2 revision  3 wake channel  4 ms when it expires
-- gives {0, ms until it expires, 0 or less when it has}
--
-- A script, since the comparison and the change must be one step.
local meta = redis.call('HGET', META, 'v')
if meta and meta ~= FORMAT then
  return {UNKNOWN, META, meta}
end
local snapshot = redis.call('HMGET', KEYS[5], 'v', 'rev', 'expires')
if not snapshot[1] then
  return {GONE}
end
if snapshot[1] ~= FORMAT then
  return {UNKNOWN, KEYS[5], snapshot[1]}
end
if tonumber(ARGV[2]) > tonumber(snapshot[2]) then
  redis.call('HSET', KEYS[5], 'rev', ARGV[2], 'expires', ARGV[4])
  snapshot[3] = ARGV[4]
end
return {OK, snapshot[3] - now}
