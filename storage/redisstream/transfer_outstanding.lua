#!lua flags=no-writes,allow-oom
-- transfer_outstanding: a page of a subscription's outstanding messages, with all that is kept about each.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
-- ARGV  1 from which n on, as ZRANGE takes it  2 up to which n  3 most messages
-- gives {0, then for each: padded id, n, the key that it also stands in (6, 7, 8 or 13; 0 for none), what it has there,
--        its deliveries or ''}
--
-- A script, since a message that moves from one set to another meanwhile must be found in one of them.
local page = redis.call('ZRANGE', KEYS[9], ARGV[1], ARGV[2], 'BYSCORE', 'LIMIT', 0, ARGV[3], 'WITHSCORES')
if #page == 0 then
  return {0}
end
local members = {}
for i = 1, #page, 2 do
  members[#members + 1] = page[i]
end
local deliveries = redis.call('HMGET', KEYS[10], unpack(members))
local scores = {[13] = redis.call('HMGET', KEYS[13], unpack(members))}
for set = 6, 8 do
  scores[set] = redis.call('ZMSCORE', KEYS[set], unpack(members))
end
local reply = {0}
for i, member in ipairs(members) do
  local set, score = 0, ''
  for other, found in pairs(scores) do
    if found[i] then
      set, score = other, found[i]
    end
  end
  for _, value in ipairs({member, page[2 * i], set, score, deliveries[i] or ''}) do
    reply[#reply + 1] = value
  end
end
return reply
