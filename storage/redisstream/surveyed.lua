-- What reads a subscription's state, for scripts that look at one subscription after the other.
local SURVEYED = 16 -- keys of each
local STATE, LEASED, WAITING, DEAD, OUT, ACKED, OVERFLOW, OVERFLOWED, SOURCE, HISTORY
local ORDER, QUEUES, FAILURES, BLOCKED, REPORT
local letters = {}
local state

-- look_at turns to the subscription whose keys begin at a place, and tells whether it has state; else its version, which is
-- unknown, or nothing.
local function look_at(first)
  STATE, LEASED, WAITING, DEAD, OUT, ACKED, OVERFLOW, OVERFLOWED, SOURCE, letters.at, HISTORY,
    ORDER, QUEUES, FAILURES, BLOCKED, REPORT = unpack(KEYS, first, first + SURVEYED - 1)
  local loaded = redis.call('HMGET', STATE, 'v', 'id', 'n', 'sum', 'bytes', 'over', 'overbytes', 'src', 'srcbytes', 'purge',
    'red')
  if loaded[1] ~= FORMAT then
    return false, loaded[1]
  end
  state = {
    id = loaded[2], n = tonumber(loaded[3]), sum = tonumber(loaded[4]), bytes = tonumber(loaded[5]),
    over = tonumber(loaded[6]), overbytes = tonumber(loaded[7]),
    src = tonumber(loaded[8] or 0), srcbytes = tonumber(loaded[9] or 0), purge = loaded[10] or '',
    red = tonumber(loaded[11] or 0),
  }
  return true
end
