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
-- gives {0, 0 done, 2 purge_source must be done first, 3 it would not last long enough,
--        ms when it expires, or that it would last}
--
-- A script, since the cursor and what is outstanding must be of one moment. Copying 100,000 messages takes some
-- tenths of a second at worst: see TestLoadSnapshot.
local DONE, AGAIN, SHORT = 0, 2, 3
local SNAPSHOT, HELD, LEFT, LEFT_AT, HELD_AT, HELD_LETTERS, SNAPSHOTS = unpack(KEYS, 23, 29)
local expires = redis.call('HGET', SNAPSHOT, 'expires')
if expires or state.purge ~= '' then
  save()
  return {OK, expires and DONE or AGAIN, tonumber(expires or 0)}
end
local life = tonumber(ARGV[8]) - math.max(0, oldest_age())
if life < tonumber(ARGV[9]) then
  save()
  return {OK, SHORT, life}
end
if redis.call('EXISTS', OUT) == 0 then
  redis.call('COPY', SOURCE, HELD)
elseif state.src == 0 then
  redis.call('COPY', OUT, HELD)
else
  redis.call('ZUNIONSTORE', HELD, 2, OUT, SOURCE)
end
if state.red > 0 then
  redis.call('COPY', letters.at, HELD_AT)
  redis.call('COPY', letters.kept, HELD_LETTERS)
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
return {OK, DONE, now + life}
