#!lua flags=allow-oom
-- seek: acks what was published before a time and unacks the rest, as far as it is retained.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB  23 …:delayed  24 …:delays
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5 time in ms  6 '1' to change nothing
-- gives {0, 0 done, 1 done but for what purge_source does, 2 that must be done first,
--        how many messages became unacked, and how many acked, or would, 1 if both are upper bounds}
--
-- A script, since the cursor, what is outstanding and the counters must move together. It takes as long with any backlog, and with
-- any number of redriven messages: what only their entries or the log can tell is done by purge_source.
local DONE, PURGE, AGAIN = 0, 1, 2
if state.purge ~= '' then
  save()
  return {OK, AGAIN, 0, 0, 0}
end
local kept = redis.call('HMGET', META, 'retention', 'retain:' .. SUB)
local here = {id = state.id, n = state.n, sum = state.sum}

-- retained_from is from where on acked messages are retained: here, when none are.
local function retained_from()
  local from = here
  if kept[1] then
    from = earlier(from, since(now - kept[1]))
  end
  if kept[2] then
    local began = redis.call('HGET', STATE, 'from')
    from = earlier(from, later(since(now - kept[2]), began and after(began) or since(0)))
  end
  return from
end

local target = since(tonumber(ARGV[5]))
local to, keep_left, left = target, true, nil
if target.n < here.n then
  to = later(target, retained_from())
end
if state.over > 0 then
  left = after(overflow_of(redis.call('ZRANGE', OVERFLOWED, 0, 0)[1]).after)
  if to.n ~= here.n or left.n < target.n then
    keep_left = false
    if left.n < to.n then
      to = later(target, left)
    end
  end
end

-- acked_to is the n up to which what is outstanding is acked: target's, unless something that is not in the log any more was
-- published since then.
local acked_to = target.n
for _, key in ipairs({OUT, SOURCE}) do
  local rank = first_rank(key, function(member) return ms_of(member) >= tonumber(ARGV[5]) end)
  local first = redis.call('ZRANGE', key, rank, rank)[1]
  acked_to = math.min(acked_to, first and letters.n_of(first) - 1 or acked_to)
end

-- outstanding_in counts what is outstanding after one n and up to another.
local function outstanding_in(low, high)
  low, high = string.format('(%.0f', low), string.format('%.0f', high)
  return redis.call('ZCOUNT', OUT, low, high) + redis.call('ZCOUNT', SOURCE, low, high)
end

local function count_changes()
  local acked, unacked = outstanding_in(-1, acked_to), 0
  if to.n >= here.n then
    acked = acked + to.n - here.n
  else
    unacked = here.n - to.n - outstanding_in(to.n, here.n)
  end
  if not keep_left then
    if left.n < target.n then
      acked = acked + state.over
    else
      unacked = unacked - state.over
    end
  end
  return unacked, acked
end

if ARGV[6] == '1' then
  local unacked, acked = count_changes()
  save()
  return {OK, DONE, unacked, acked, keep_left and 0 or 1}
end

gather()
local below = redis.call('ZCOUNT', SOURCE, '-inf', string.format('%.0f', acked_to))
local above = redis.call('ZCOUNT', SOURCE, string.format('(%.0f', to.n), '+inf')
if below + above == state.src then
  drop_source()
elseif below + above > 0 then
  set('src', state.src - below - above)
  set('purge', string.format('%.0f:%.0f', acked_to, to.n))
end
restart(to, keep_left)
return {OK, state.purge == '' and DONE or PURGE, 0, 0, 0}
