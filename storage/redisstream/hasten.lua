#!lua flags=allow-oom
-- hasten: of a page of outstanding messages, those that wait for longer than the retry policy says wait as long as that from now.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5… rules (rules.lua)
--       then: n after which to begin
-- gives {0, n after which to go on or -1}
--
-- A script, since a message must not be leased between the look and the change.
local before = next_due()
local page = redis.call('ZRANGE', OUT, '(' .. ARGV[REST], '+inf', 'BYSCORE', 'LIMIT', 0, MESSAGES_MAX, 'WITHSCORES')
local members, sooner = {}, {}
for i = 1, #page, 2 do
  members[#members + 1] = page[i]
end
if #members > 0 then
  local due = redis.call('ZMSCORE', WAITING, unpack(members))
  local numbers, released = counts_of(members)
  for i, member in ipairs(members) do
    if due[i] then
      local attempts = numbers[i] - released[i]
      local at = exhausted(attempts) and now or now + delay(attempts)
      if at < tonumber(due[i]) then
        sooner[#sooner + 1], sooner[#sooner + 2] = at, member
      end
    end
  end
end
if #sooner > 0 then
  redis.call('ZADD', WAITING, unpack(sooner))
end
save()
announce_due(before, next_due(), false)
return {OK, #members == MESSAGES_MAX and tonumber(page[#page]) or -1}
