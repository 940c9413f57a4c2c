#!lua flags=allow-oom
-- attach: makes a subscription's state, with its cursor at the end of the log.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors  5 …:s:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5 name
--       6 ms for which the log keeps what it acked
-- gives {0, 1 if append_due must be done first}
--
-- A script, since no publish may fall between reading the end of the log and setting the cursor.
local STATE, SUB, revision = KEYS[5], ARGV[4], tonumber(ARGV[2])
local meta = redis.call('HMGET', META, 'v', 'closed', 'n', 'ms', 'sum', 'due')
if not meta[1] or meta[2] then
  return {GONE}
end
if meta[1] ~= FORMAT then
  return {UNKNOWN, META, meta[1]}
end
local state = redis.call('HMGET', STATE, 'v', 'rev')
if state[1] and state[1] ~= FORMAT then
  return {UNKNOWN, STATE, state[1]}
end
if state[1] and revision < tonumber(state[2]) then
  return {STALE}
end
if state[1] then
  if revision > tonumber(state[2]) then
    announce('r ' .. SUB)
  end
  redis.call('HSET', STATE, 'rev', revision, 'used', now)
  retain('retain:' .. SUB, tonumber(ARGV[6]))
  return {OK, 0}
end
if tonumber(meta[6] or now + 1) <= now then
  return {OK, 1}
end
local n = tonumber(meta[3])
-- No entry has this id. It stands after all that were published and before all that will be.
local from = string.format('%.0f-%.0f', tonumber(meta[4]), n * 10000 + 9999)
redis.call('HSET', STATE, 'v', FORMAT, 'rev', revision, 'epoch', 0, 'id', from, 'n', n, 'sum', meta[5], 'from', from,
  'bytes', 0, 'bound', 0, 'max', 0, 'over', 0, 'overbytes', 0, 'used', now,
  'acked', 0, 'nacked', 0, 'expired', 0, 'dropped', 0, 'lost', 0, 'moved', 0, 'filtered', 0)
redis.call('HSET', SUBS, SUB, ARGV[5])
redis.call('ZADD', FLOORS, n, SUB)
retain('retain:' .. SUB, tonumber(ARGV[6]))
return {OK, 0}
