#!lua flags=allow-oom
-- take_snapshot: keeps what is unacked now, and all that is published from now on.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
--       23 …:snapshot:SNAP  24 …:held:SNAP  25 …:left:SNAP  26 …:leftat:SNAP  27 …:heldat:SNAP  28 …:heldletters:SNAP
--       29 …:snapshots
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
--       5 snapshot uid  6 its name  7 its revision  8 ms it lasts without a backlog  9 ms it must last
--       10 where to go on with what was redriven, '0' at first  11 ms for which what was copied of that is kept without the rest
-- gives {0, 0 done, 2 purge_source must be done first, 3 it would not last long enough, 4 this once more,
--        ms when it expires, or that it would last, where to go on}
--
-- A script, since the cursor and what is outstanding must be of one moment. What was redriven has its content with it, so that is
-- copied before that moment, a bounded number at once. Then there are ids alone: copying 100,000 of them takes some tenths of a
-- second at worst, see TestLoadSnapshot.
local DONE, AGAIN, SHORT, MORE = 0, 2, 3, 4
local SNAPSHOT, HELD, LEFT, LEFT_AT, HELD_AT, HELD_LETTERS, SNAPSHOTS = unpack(KEYS, 23, 29)
local expires = redis.call('HGET', SNAPSHOT, 'expires')
if expires or state.purge ~= '' then
  save()
  return {OK, expires and DONE or AGAIN, tonumber(expires or 0), '0'}
end
local life = tonumber(ARGV[8]) - math.max(0, oldest_age())
if life < tonumber(ARGV[9]) then
  save()
  return {OK, SHORT, life, '0'}
end

-- hold_letters copies what was redriven, and gives where to go on; nil when all is there. Meanwhile some may be acked, which is
-- copied in vain, and some redriven, which another round finds. What stays the same of a message is its content.
local function hold_letters(cursor)
  if state.red == 0 then
    return nil
  end
  local page, ids = redis.call('ZSCAN', letters.at, cursor, 'COUNT', MESSAGES_MAX), {}
  for i = 1, #page[2], 2 do
    ids[#ids + 1] = page[2][i]
  end
  local held, copied, bytes = #ids > 0 and redis.call('ZMSCORE', HELD_AT, unpack(ids)), 0, 0 -- a part of a scan may be empty
  for i, id in ipairs(ids) do
    if not held[i] then
      if copied == MESSAGES_MAX or bytes >= BYTES_MAX then
        return cursor
      end
      local letter = redis.call('HGET', letters.kept, id)
      redis.call('ZADD', HELD_AT, 0, id)
      copied = copied + 1
      if letter then
        redis.call('HSET', HELD_LETTERS, id, letter)
        bytes = bytes + #letter
      end
    end
  end
  if page[1] ~= '0' or redis.call('ZINTERCARD', 2, letters.at, HELD_AT) < state.red then
    return page[1]
  end
end

local cursor = hold_letters(ARGV[10])
if cursor then
  redis.call('PEXPIRE', HELD_LETTERS, ARGV[11])
  redis.call('PEXPIRE', HELD_AT, ARGV[11])
  save()
  return {OK, MORE, 0, cursor}
end
if redis.call('EXISTS', OUT) == 0 then
  redis.call('COPY', SOURCE, HELD)
elseif state.src == 0 then
  redis.call('COPY', OUT, HELD)
else
  redis.call('ZUNIONSTORE', HELD, 2, OUT, SOURCE)
end
if state.red > 0 then
  redis.call('COPY', letters.at, HELD_AT, 'REPLACE')
  redis.call('PERSIST', HELD_LETTERS)
end
if state.over > 0 then
  redis.call('COPY', OVERFLOW, LEFT)
  redis.call('COPY', OVERFLOWED, LEFT_AT)
end
redis.call('HSET', SNAPSHOT, 'v', FORMAT, 'rev', ARGV[7], 'expires', string.format('%.0f', now + life),
  'id', state.id, 'n', state.n, 'sum', state.sum, 'bytes', state.bytes + state.srcbytes,
  'over', state.over, 'overbytes', state.overbytes)
redis.call('HSET', SNAPSHOTS, ARGV[5], ARGV[6])
redis.call('ZADD', FLOORS, needed_floor(), ARGV[5])
set('used', now)
save()
return {OK, DONE, now + life, '0'}
