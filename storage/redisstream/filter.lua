-- Filters. Lua cannot read attributes, so Go judges a part of the log first (look.lua, filter.go) and brings what it found with
-- the lease or the sweep. Messages and filters never change, so a verdict never becomes wrong; what has none is left for the
-- next call.
local filtered = false
local judged_from, judged_to, matching = 0, -1, {} -- of the log behind the cursor: which n's were judged, and which match
local ahead = nil -- of the log ahead of the cursor: see load_page

-- load_verdicts takes what was found behind the cursor from the arguments, and gives the place of the next one. Without a
-- filter there are none. They are: the first n, the last n, how many match, and the n of each of those.
local function load_verdicts(at)
  if ARGV[at] then
    filtered = true
    judged_from, judged_to = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
    for i = at + 3, at + 2 + ARGV[at + 2] do
      matching[tonumber(ARGV[i])] = true
    end
    return at + 3 + ARGV[at + 2]
  end
end

-- verdict tells whether a message behind the cursor matches; nil when that is not known.
local function verdict(n)
  if not filtered then
    return true
  end
  if n >= judged_from and n <= judged_to then
    return matching[n] or false
  end
end

-- load_page takes what was found ahead of the cursor from the arguments: the cursor's n, the id, n and sum at the end, how many
-- do not match behind the last that does, then for each that does: its id, how many do not match before it.
local function load_page(at)
  if filtered then
    ahead = {
      from = tonumber(ARGV[at]), id = ARGV[at + 1], n = tonumber(ARGV[at + 2]), sum = tonumber(ARGV[at + 3]),
      rest = tonumber(ARGV[at + 4]), at = at + 5, gap = 0,
    }
  end
end

-- following reads the next message of the page that matches, and tells how many do not match before it.
local function following()
  while ARGV[ahead.at] do
    local id = ARGV[ahead.at]
    ahead.gap, ahead.at = ahead.gap + ARGV[ahead.at + 1], ahead.at + 2
    if tonumber(string.match(id, '%-(%d+)%d%d%d%d$')) > state.n then
      local entry, gap = redis.call('XRANGE', LOG, id, id)[1], ahead.gap
      if entry then
        ahead.gap = 0
        return entry, gap
      end
    else
      ahead.gap = 0 -- another lease was here
    end
  end
end
