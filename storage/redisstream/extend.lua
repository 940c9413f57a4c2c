#!lua flags=allow-oom
-- extend: gives current leases a new deadline.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5 ms from now
--       then for each receipt: padded id, delivery number, epoch; at most 200
-- gives {0, then the places, from 0, of the receipts that had no effect}
--
-- A script, since only the current, unexpired lease may be extended.
set('used', now)
local before, lease_before = next_due()
local args, found = {}, current(6, 3)
for _, receipt in ipairs(found) do
  args[#args + 1], args[#args + 2] = now + tonumber(ARGV[5]), receipt.member
end
if #args > 0 then
  redis.call('ZADD', LEASED, unpack(args))
end
save()
local after, lease_after = next_due()
announce_due(before, after, false, lease_before, lease_after)
return missing({OK}, found, 6, 3)
