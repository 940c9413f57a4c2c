#!lua flags=allow-oom
-- release: gives current leases back unused. They are due at once and their attempt does not count.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:due:SUB  7 …:out:SUB  8 …:deliveries:SUB  9 …:dead:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
--       then for each receipt: padded id, delivery number, epoch; at most 200
-- gives {0}
--
-- A script, since only the current, unexpired lease may be released.
local before = head_of(DUE)
local due_args, delivery_args = {}, {}
for _, receipt in ipairs(current(5, 3)) do
  due_args[#due_args + 1], due_args[#due_args + 2] = 2 * now + 1, receipt.member
  delivery_args[#delivery_args + 1] = receipt.member
  delivery_args[#delivery_args + 1] = string.format('%.0f:%.0f', receipt.number, receipt.released + 1)
end
if #due_args > 0 then
  redis.call('ZADD', DUE, unpack(due_args))
  redis.call('HSET', DELIVERIES, unpack(delivery_args))
end
save()
announce_due(before, head_of(DUE), false)
return {OK}
