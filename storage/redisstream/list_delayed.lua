#!lua flags=allow-oom
-- list_delayed: a page of the messages that are not due yet.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors  5 …:delayed  6 …:delays
-- ARGV  1 now or ''  2 ''  3 wake channel  4 ms and 5 padded id after which the page begins, or 0 and ''  6 most messages
-- gives {0, how many there are in all, their size, 1 if there is another page,
--        then for each: padded id, ms when it is due, h without its sum followed by d}
--
-- A script, since it must not show what is due, nor miss what is not.
local meta = redis.call('HMGET', META, 'v', 'closed')
if not meta[1] or meta[2] then
  return {GONE}
end
if meta[1] ~= FORMAT then
  return {UNKNOWN, META, meta[1]}
end
read_end()

-- rank_after is how many messages come before the page. Where an id would stand, Redis knows only of what is there.
local function rank_after(ms_, id)
  if id == '' then
    return 0
  end
  local absent = redis.call('ZADD', delayed.due, 'NX', ms_, id) == 1
  local rank = redis.call('ZRANK', delayed.due, id)
  if absent then
    redis.call('ZREM', delayed.due, id)
  end
  return absent and rank or rank + 1
end

local most, bytes = math.min(tonumber(ARGV[6]), 200), 0
local count = redis.call('ZCARD', delayed.due)
local reply = {OK, count, tonumber(redis.call('HGET', META, 'delaybytes') or 0), 0}
if most == 0 then
  return reply
end
local from = rank_after(ARGV[4], ARGV[5])
local page = redis.call('ZRANGE', delayed.due, from, from + most - 1, 'WITHSCORES')
for i = 1, #page, 2 do
  if bytes >= 1000000 then
    break
  end
  local stored = redis.call('HGET', delayed.messages, page[i]) or ''
  bytes, from = bytes + #stored, from + 1
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = page[i], tonumber(page[i + 1]), stored
end
reply[4] = from < count and 1 or 0
return reply
