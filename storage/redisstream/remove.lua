#!lua flags=allow-oom
-- remove: takes messages for good, whatever their state, as far as they are behind the cursor.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5… padded ids, at most 200
-- gives {0, 0 done, 2 purge_source must be done first,
--        then of each: 1 it was taken now  2 it is not there  3 its ordering key left it in the log  4 it lies ahead of the cursor}
--
-- A script, since a message must not move from one place to another between the looks.
local DONE, AGAIN = 0, 2
local TAKEN_, GONE_, LEFT_, AHEAD = 1, 2, 3, 4
if state.purge ~= '' then
  save()
  return {OK, AGAIN}
end
local before, keyed, sourced, gone = next_due(), false, false, {}

local function size_of(member)
  local entry = letters.entry_of(member)
  if not entry then
    return 0
  end
  local _, size = read(entry)
  return size
end

local function take_away(member)
  if removed[member] then
    return GONE_
  end
  if redis.call('ZSCORE', OUT, member) then
    set('bytes', state.bytes - size_of(member))
    gone[#gone + 1], removed[member] = member, true
    if key_of(member) then
      keyed = true
      leave(member)
    end
    return TAKEN_
  end
  local name = in_source_as(member)
  if name then
    out_of_source({name}, 1, size_of(name))
    letters.forget({name})
    count('acked', 1)
    sourced = true
    return TAKEN_
  end
  return is_ahead(member) and AHEAD or is_left(member) and LEFT_ or GONE_
end

local reply = {OK, DONE}
for i = 5, #ARGV do
  reply[#reply + 1] = take_away(ARGV[i])
end
if sourced and #gone == 0 then
  settle_floor()
end
settled(gone, 'acked', keyed, before)
return reply
