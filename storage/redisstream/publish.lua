#!lua
-- publish: appends messages to the log, all or none, and keeps aside those that are due later.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors  5 …:taken
--       then, if a message is delayed: 6 …:delayed  7 …:delays
-- ARGV  1 now or ''  2 revision  3 wake channel  4 salt, four digits
--       5 ms for which every message is kept, then for each message: h without its sum, or its times (timed.lua), d
-- gives {0, ms, n of the first message that is appended: ids follow from these and the salt;
--        then, if a message is delayed: the count of the first that is, and the places, from 0, of those that are due already}
--
-- A script, since ids, the running count and sums must rise together with the log.
-- Without allow-oom: a full Redis refuses it before its first write.
local salt = ARGV[4]
local first = n + 1
local attached = redis.call('HLEN', SUBS) > 0
local needed = attached or tonumber(ARGV[5]) > 0 or redis.call('ZCARD', FLOORS) > 0
local byte, T = string.byte, string.byte('T')
for i = 6, #ARGV, 2 do
  if byte(ARGV[i]) == T then
    publish_timed(ARGV[i], ARGV[i + 1], salt, needed, (i - 6) / 2)
  else
    append(ARGV[i], ARGV[i + 1], salt, needed)
  end
end
save_end()
if attached and n >= first then
  announce('p')
end
save_delays(attached)
local reply = {OK, ms, first}
if delays then
  reply[4] = first_delayed + 1
  for _, place in ipairs(at_once) do
    reply[#reply + 1] = place
  end
end
return reply
