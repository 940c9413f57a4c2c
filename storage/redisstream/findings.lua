#!lua flags=allow-oom,no-writes
-- findings: what was shared since a position.
--
-- KEYS  1 postrider:{fleet}:survey  2 postrider:{fleet}:findings  3 postrider:{fleet}:found (share.lua)
-- ARGV  1 now or ''  2 life and  3 seq of the position, or ''
-- gives {0, now, 1 if the position is none of this store's life, life, seq, 1 if there is more, then UID and finding…}
--
-- A script, so that nothing falls between the look and the position; at most 200 findings and 1 MB.
local MOST, BYTES = 200, 1000000
local survey = redis.call('HMGET', KEYS[1], 'life', 'seq')
local life, newest = survey[1] or '', tonumber(survey[2] or 0)
local lost = ARGV[2] ~= life or ARGV[3] == '' or tonumber(ARGV[3]) > newest
local from = lost and 0 or tonumber(ARGV[3])
local reply = {0, now, lost and 1 or 0, life, newest, 0}
local page = redis.call('ZRANGE', KEYS[3], string.format('(%.0f', from), '+inf', 'BYSCORE', 'LIMIT', 0, MOST, 'WITHSCORES')
local size = 0
for i = 1, #page, 2 do
  local found = redis.call('HGET', KEYS[2], page[i])
  if found then
    reply[#reply + 1], reply[#reply + 2] = page[i], found
    size = size + #found
  end
  if size >= BYTES or i + 1 == 2 * MOST then
    reply[5] = tonumber(page[i + 1])
    reply[6] = reply[5] < newest and 1 or 0
    break
  end
end
return reply
