-- The parts of the configuration that steps act on, and what they mean for a failed attempt.
local RULES = 5
local max_attempts, retention = tonumber(ARGV[RULES]), tonumber(ARGV[RULES + 1])
local bound, jitter = tonumber(ARGV[RULES + 2]), tonumber(ARGV[RULES + 3])
local failures = tonumber(ARGV[RULES + 4]) -- failed attempts that earlier calls of the same step already spread
local spans = tonumber(ARGV[RULES + 5])
local REST = RULES + 6 + 2 * spans -- the first argument after the rules
local cutoff = now - retention -- what was published before is too old

-- exhausted tells whether so many attempts are all a message gets.
local function exhausted(attempts)
  return max_attempts > 0 and attempts >= max_attempts
end

-- delay is subscriptions.SpanOf(…, attempt).At(Jitter(u, i)), i counting the delays of the step.
local function delay(attempt)
  local u = jitter + failures * 0.6180339887498949
  u = u - math.floor(u)
  failures = failures + 1
  if spans == 0 then
    return 0
  end
  local at = RULES + 4 + 2 * math.min(math.max(attempt, 1), spans)
  local low, high = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  return low + math.floor(u * (high - low))
end

-- expire turns leases that ran out into waiting messages, or dead ones. It tells whether anything died.
local function expire()
  local old = redis.call('ZRANGE', LEASED, '-inf', now, 'BYSCORE', 'LIMIT', 0, MESSAGES_MAX, 'WITHSCORES')
  local members, wait, dead = {}, {}, {}
  for i = 1, #old, 2 do
    members[#members + 1] = old[i]
  end
  local numbers, released = counts_of(members)
  for i, member in ipairs(members) do
    local attempts = numbers[i] - released[i]
    if exhausted(attempts) then
      dead[#dead + 1], dead[#dead + 2] = now, member
    else
      wait[#wait + 1], wait[#wait + 2] = tonumber(old[2 * i]) + delay(attempts), member
    end
  end
  count('expired', #members)
  move(LEASED, WAITING, wait)
  move(LEASED, DEAD, dead)
  return #dead > 0
end
