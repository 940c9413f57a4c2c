#!lua flags=allow-oom
-- restore: unacks what was unacked when a snapshot was taken and all that was published since, and acks the rest.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
--       23 …:snapshot:SNAP  24 …:held:SNAP  25 …:left:SNAP  26 …:leftat:SNAP  27 …:heldat:SNAP  28 …:heldletters:SNAP
--       29 …:brought:CALL  30 …:delayed  31 …:delays
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5 '1' to change nothing
-- gives {0, 0 done, 2 purge_source must be done first, 3 there is no such snapshot, 4 bring_letters must be done first,
--        how many messages became unacked, and how many acked, or would, 1 if both are upper bounds}
--
-- A script, since the cursor, what is outstanding and the counters must move together. The content of what was redriven is there
-- already: copying the ids of 100,000 messages takes some tenths of a second at worst, see TestLoadSnapshot.
local DONE, AGAIN, MISSING, BRING = 0, 2, 3, 4
local SNAPSHOT, HELD, LEFT, LEFT_AT, HELD_AT, HELD_LETTERS, BROUGHT = unpack(KEYS, 23, 29)
local stored = redis.call('HMGET', SNAPSHOT, 'expires', 'id', 'n', 'sum', 'bytes', 'over', 'overbytes')
if not stored[1] or tonumber(stored[1]) <= now then
  save()
  return {OK, MISSING, 0, 0, 0}
end
local to = {id = stored[2], n = tonumber(stored[3]), sum = tonumber(stored[4])}

local function range_of(key, low)
  return redis.call('ZCOUNT', key, string.format('(%.0f', low), '+inf')
end

-- count_changes compares two sets, each of some messages behind a place and all after it.
local function count_changes()
  local both = 0 -- in both, of what each holds behind its place
  for _, key in ipairs({OUT, SOURCE}) do
    local got = redis.call('ZINTERCARD', 2, key, HELD)
    both = both + got
  end
  local now_, then_ = redis.call('ZCARD', OUT) + state.src, redis.call('ZCARD', HELD)
  if to.n < state.n then -- what is outstanding after the snapshot's place is unacked in both
    both = both + range_of(OUT, to.n) + range_of(SOURCE, to.n)
    then_ = then_ + state.n - to.n
  else
    both = both + range_of(HELD, state.n)
    now_ = now_ + to.n - state.n
  end
  return then_ - both + tonumber(stored[6]), now_ - both + state.over
end

if ARGV[5] == '1' and state.purge ~= '' then
  save()
  return {OK, AGAIN, 0, 0, 0}
end
if ARGV[5] == '1' then
  local unacked, acked = count_changes()
  save()
  return {OK, DONE, unacked, acked, (state.over > 0 or tonumber(stored[6]) > 0) and 1 or 0}
end
local redriven = redis.call('EXISTS', HELD_AT, HELD_LETTERS) == 2
if redriven and redis.call('EXISTS', BROUGHT) == 0 then
  save()
  return {OK, BRING, 0, 0, 0}
end
redis.call('UNLINK', OUT, letters.at, letters.kept)
set('red', 0)
drop_source()
if redis.call('COPY', HELD, SOURCE) == 1 then
  set('src', redis.call('ZCARD', SOURCE))
  set('srcbytes', tonumber(stored[5]))
end
if redriven then
  redis.call('RENAME', BROUGHT, letters.kept)
  redis.call('PERSIST', letters.kept)
  redis.call('COPY', HELD_AT, letters.at)
  set('red', redis.call('ZCARD', letters.at))
end
redis.call('UNLINK', OVERFLOW, OVERFLOWED)
set('over', tonumber(stored[6]))
set('overbytes', tonumber(stored[7]))
if state.over > 0 then
  redis.call('COPY', LEFT, OVERFLOW)
  redis.call('COPY', LEFT_AT, OVERFLOWED)
end
restart(to, true)
return {OK, DONE, 0, 0, 0}
