#!lua flags=allow-oom
-- attempts: what is kept about failed attempts of outstanding messages.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
--       then for each receipt: padded id, epoch; at most 200
-- gives {0, the lines of each (failures.lua) or ''}
--
-- A script, since a seek must not come between the look at the epoch and at what is kept.
local members = {}
for i = 5, #ARGV, 2 do
  members[#members + 1] = tonumber(ARGV[i + 1]) == state.epoch and ARGV[i] or ''
end
local reply = {OK}
if #members > 0 then
  for _, lines in ipairs(redis.call('HMGET', FAILURES, unpack(members))) do
    reply[#reply + 1] = lines or ''
  end
end
save()
return reply
