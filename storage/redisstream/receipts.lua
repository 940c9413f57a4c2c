-- current filters receipts, at ARGV[from] and so on, each of width arguments that begin with the padded id, the delivery
-- number and the epoch. What it gives are those that are leased now under that number: index in ARGV, member, number,
-- released count.
local function current(from, width)
  local members, at, found = {}, {}, {}
  for i = from, #ARGV, width do
    if tonumber(ARGV[i + 2]) == state.epoch then
      members[#members + 1], at[#at + 1] = ARGV[i], i
    end
  end
  if #members == 0 then
    return found
  end
  local ends = redis.call('ZMSCORE', LEASED, unpack(members))
  local numbers, released = counts_of(members)
  local known = {}
  for i, member in ipairs(members) do
    if tonumber(ends[i] or 0) > now and tonumber(ARGV[at[i] + 1]) == numbers[i] and not known[member] then
      known[member] = true
      found[#found + 1] = {at = at[i], member = member, number = numbers[i], released = released[i]}
    end
  end
  return found
end
