#!lua
-- publish: appends messages to the log, all or none.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors  5 …:taken
-- ARGV  1 now or ''  2 revision  3 wake channel  4 salt, four digits
--       5 ms for which every message is kept, then for each message: h without its sum, d
-- gives {0, ms, n of the first message}: ids follow from these and the salt
--
-- A script, since ids, the running count and sums must rise together with the log.
-- Without allow-oom: a full Redis refuses it before its first write.
local salt = ARGV[4]
local first = n + 1
local attached = redis.call('HLEN', SUBS) > 0
local needed = attached or tonumber(ARGV[5]) > 0 or redis.call('ZCARD', FLOORS) > 0
for i = 6, #ARGV, 2 do
  append(ARGV[i], ARGV[i + 1], salt, needed)
end
save_end()
if attached and n >= first then
  announce('p')
end
return {OK, ms, first}
