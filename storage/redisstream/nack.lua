#!lua flags=allow-oom
-- nack: a current lease failed. The message waits for its retry, or is dead when that was its last attempt.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:due:SUB  7 …:out:SUB  8 …:deliveries:SUB  9 …:dead:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5… rules (rules.lua)
--       then for each receipt: padded id, delivery number, epoch, the least delay in ms; at most 200
-- gives {0, how many delays were spread so far}
--
-- A script, since only the current, unexpired lease may be refused, and its attempts decide what follows.
local before = head_of(DUE)
local waiting, dead = {}, {}
for _, receipt in ipairs(current(REST, 4)) do
  local attempts = receipt.number - receipt.released
  count('nacked', 1)
  if exhausted(attempts) then
    dead[#dead + 1] = receipt.member
  else
    local wait = math.max(delay(attempts), tonumber(ARGV[receipt.at + 3]))
    waiting[#waiting + 1], waiting[#waiting + 2] = 2 * (now + wait) + 1, receipt.member
  end
end
if #waiting > 0 then
  redis.call('ZADD', DUE, unpack(waiting))
end
bury(dead)
save()
announce_due(before, head_of(DUE), #dead > 0)
return {OK, failures}
