#!lua flags=no-writes,allow-oom
-- transfer_log: a page of a log whose messages may be large: about so many bytes, or one message.
--
-- KEYS  1 postrider:{UID:0}:log
-- ARGV  1 after which id  2 up to which id  3 most entries  4 most bytes  5 size of the largest message
-- gives {0, then the entries as XRANGE gives them}
--
-- A script, since only here can the next few be asked for in the light of how large the last ones were.
local after, most, left, largest = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local reply = {0}
repeat
  local count = math.max(1, math.min(most + 1 - #reply, math.floor(left / largest)))
  local entries = redis.call('XRANGE', KEYS[1], '(' .. after, ARGV[2], 'COUNT', count)
  for _, entry in ipairs(entries) do
    reply[#reply + 1] = entry
    after, left = entry[1], left - #entry[2][2] - #entry[2][4]
  end
until #entries < count or left <= 0 or #reply > most
return reply
