-- current filters receipts, at ARGV[from] and so on, each of width arguments that begin with the padded id, the delivery
-- number and the epoch. What it gives are those that are leased now under that number: index in ARGV, member, number,
-- released count, and the ms at which the lease ends.
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
      found[#found + 1] = {
        at = at[i], member = member, number = numbers[i], released = released[i], ends = tonumber(ends[i]),
      }
    end
  end
  return found
end

-- missing gives the places, from 0, of the receipts that current did not find, behind what comes first in a reply.
local function missing(reply, found, from, width)
  if #found == (#ARGV - from + 1) / width then
    return reply
  end
  local known = {}
  local function name(at)
    return string.format('%s#%s#%s', ARGV[at], ARGV[at + 1], ARGV[at + 2])
  end
  for _, receipt in ipairs(found) do
    known[name(receipt.at)] = true
  end
  for i = from, #ARGV, width do
    if not known[name(i)] then
      reply[#reply + 1] = (i - from) / width
    end
  end
  return reply
end
