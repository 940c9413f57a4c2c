#!lua flags=allow-oom
-- acknowledge: settles messages for good, whatever their state and delivery. settle_dead does the same for moved ones.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid  5 the counter: 'acked' or 'moved'
--       then for each receipt: padded id, epoch, size; at most 200
-- gives {0}
--
-- A script, since the counters and the floor of the log must follow exactly from what was still outstanding.
local members, sizes, known = {}, {}, {}
for i = 6, #ARGV, 3 do
  if tonumber(ARGV[i + 1]) == state.epoch and not known[ARGV[i]] then
    known[ARGV[i]] = true
    members[#members + 1], sizes[#sizes + 1] = ARGV[i], tonumber(ARGV[i + 2])
  end
end
local gone = {}
if #members > 0 then
  for i, n in ipairs(redis.call('ZMSCORE', OUT, unpack(members))) do
    if n then
      gone[#gone + 1] = members[i]
      set('bytes', state.bytes - sizes[i])
    end
  end
end
if ARGV[5] == 'acked' then
  set('used', now)
end
if #gone > 0 then
  forget(gone)
  count(ARGV[5], #gone)
  settle_floor()
  announce_due(nil, nil, freed())
end
save()
return {OK}
