#!lua flags=allow-oom
-- nack: a current lease failed. The message waits for its retry, or is dead when that was its last attempt.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5… rules (rules.lua)
--       then '1' if it counts as a use
--       then for each receipt: padded id, delivery number, epoch, the least delay in ms, why (failures.lua); at most 200
-- gives {0, how many delays were spread so far, then the places, from 0, of the receipts that had no effect}
--
-- A script, since only the current, unexpired lease may be refused, and its attempts decide what follows.
local before = next_due()
local wait, dead = {}, {}

local function refuse(receipt)
  local attempts = receipt.number - receipt.released
  local last = exhausted(attempts)
  local at = last and now or now + math.max(delay(attempts), tonumber(ARGV[receipt.at + 3]))
  count('nacked', 1)
  failed(receipt.member, now, attempts, ARGV[receipt.at + 4])
  if key_of(receipt.member) then
    come_again(receipt.member, receipt.number, receipt.released, at, last)
  elseif last then
    dead[#dead + 1], dead[#dead + 2] = now, receipt.member
  else
    wait[#wait + 1], wait[#wait + 2] = at, receipt.member
  end
end

local found = current(REST + 1, 5)
for _, receipt in ipairs(found) do
  if not sent[receipt.member] then
    refuse(receipt)
  end
end
save_failures()
if ARGV[REST] == '1' then
  set('used', now)
end
move(LEASED, WAITING, wait)
move(LEASED, DEAD, dead)
save()
announce_due(before, next_due(), urgent or #dead > 0)
return missing({OK, failures}, found, REST + 1, 5)
