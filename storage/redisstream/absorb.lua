#!lua flags=allow-oom
-- absorb: moves the cursor, and lets what it passes that matches be read from the source instead.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
--       5 the n of the cursor, as it was seen  6 the id, 7 the n and 8 the sum of where it goes  9 how many entries were read
--       10 '1' if order is kept, then the ids of what matches; at most 200
-- gives {0, 0 done, 2 purge_source must be done first}
--
-- A script, since the cursor and the source must move together, and never for two callers at once.
local DONE, AGAIN = 0, 2
if state.purge ~= '' then
  save()
  return {OK, AGAIN}
end
if state.n == tonumber(ARGV[5]) then
  for i = 11, #ARGV do
    local entry = redis.call('XRANGE', LOG, ARGV[i], ARGV[i])[1]
    if entry then
      local n, size = read(entry)
      local key = ARGV[10] == '1' and key_in(entry)
      if key and overflow_of(key) then
        leave_in_log(key, entry[1], n, size)
      else
        redis.call('ZADD', SOURCE, n, member_of(entry[1]) .. (key and ':' .. key or ''))
        set('src', state.src + 1)
        set('srcbytes', state.srcbytes + size)
      end
    end
  end
  count('filtered', ARGV[9] - (#ARGV - 10))
  count('lost', ARGV[7] - state.n - ARGV[9])
  set('id', ARGV[6])
  set('n', tonumber(ARGV[7]))
  set('sum', tonumber(ARGV[8]))
  settle_floor()
  save_overflows()
end
save()
return {OK, DONE}
