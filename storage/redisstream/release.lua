#!lua flags=allow-oom
-- release: gives current leases back unused. They are due at once and their attempt does not count.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
--       then for each receipt: padded id, delivery number, epoch, '' or why an attempt failed that is not spent
--       (failures.lua); at most 200
-- gives {0}
--
-- A script, since only the current, unexpired lease may be released.
local before = next_due()
local wait, delivery_args = {}, {}
for _, receipt in ipairs(current(5, 4)) do
  local member, released = receipt.member, receipt.released + 1
  if ARGV[receipt.at + 3] ~= '' and not sent[member] then
    failed(member, now, 0, ARGV[receipt.at + 3])
  end
  if not key_of(member) then
    wait[#wait + 1], wait[#wait + 2] = now, member
    delivery_args[#delivery_args + 1] = member
    delivery_args[#delivery_args + 1] = string.format('%.0f:%.0f', receipt.number, released)
  elseif not sent[member] then
    come_again(member, receipt.number, released, now, false)
  end
end
if #wait > 0 then
  move(LEASED, WAITING, wait)
  redis.call('HSET', DELIVERIES, unpack(delivery_args))
end
save_failures()
save()
announce_due(before, next_due(), false)
return {OK}
