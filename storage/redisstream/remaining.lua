#!lua flags=allow-oom
-- remaining: tells how much longer leases last.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
--       then for each receipt: padded id, delivery number, epoch; at most 200
-- gives {0, ms of each, 0 for what is not leased by that delivery}
--
-- A script, since the lease and its delivery must be of one moment.
local reply = {OK}
for _ = 5, #ARGV, 3 do
  reply[#reply + 1] = 0
end
for _, receipt in ipairs(current(5, 3)) do
  reply[(receipt.at - 5) / 3 + 2] = receipt.ends - now
end
save()
return reply
