#!lua flags=no-writes,allow-oom
-- look: where a lease or a sweep of a subscription with a filter is going to read the log, so that what is there can be
-- judged before. It changes nothing, and takes no part in the revision check.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB
-- ARGV  1 now or ''  2 retention in ms  3 most messages that a lease is going to read at once  4 most bytes
-- gives {0, the id after which a lease reads, its n, ms of the last message published, its n, sum of all sizes, the largest
--        size, the id after which hungry keys are filled again or '', 1 if append_due should be done first,
--        id, n and sum of a place up to which no more bytes than that are ahead (span.lua); '' and 0 without one, or if as many
--        of the largest are no more}
--
-- A script, since the parts belong to one moment.
local STATE, OVERFLOW, HUNGRY = KEYS[5], KEYS[14], KEYS[16]
local most, bytes = tonumber(ARGV[3]), tonumber(ARGV[4])
local stored = redis.call('HMGET', STATE, 'v', 'id', 'n', 'over', 'sum')
if not stored[1] then
  return {GONE}
end
if stored[1] ~= FORMAT then
  return {UNKNOWN, STATE, stored[1]}
end
local from = {id = stored[2], n = tonumber(stored[3]), sum = tonumber(stored[5])}
local meta = redis.call('HMGET', META, 'n', 'ms', 'sum', 'max', 'retention', 'due')
local last = {n = tonumber(meta[1]), ms = tonumber(meta[2]), sum = tonumber(meta[3])}
local hungry, cutoff = '', now - math.max(tonumber(ARGV[2]), tonumber(meta[5] or 0))
local old = last_old(from.id, from.n, last.n, cutoff)
if old then -- the lease will move the cursor there, and drop what keys left behind it
  from = {id = old[1], n = read(old), sum = sum_of(old)}
elseif tonumber(stored[4]) > 0 then
  local lowest = redis.call('ZRANGE', HUNGRY, 0, 0)[1]
  hungry = lowest and string.match(redis.call('HGET', OVERFLOW, lowest), '^%d+:%d+:(.*)$') or ''
end
local largest, safe = math.max(1, tonumber(meta[4])), nil
if largest * most > bytes and from.n < last.n then
  last.id = string.format('%.0f-%.0f', last.ms, last.n * 10000 + 9999)
  safe = span_of(from, last, most, bytes)
end
safe = safe or {id = '', n = 0, sum = 0}
return {OK, from.id, from.n, last.ms, last.n, last.sum, largest, hungry, tonumber(meta[6] or now + 1) <= now and 1 or 0,
  safe.id, safe.n, safe.sum}
