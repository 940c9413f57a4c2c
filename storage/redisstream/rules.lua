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

-- bury makes messages dead: they wait in the dead set, to be moved at once.
local function bury(members)
  if #members > 0 then
    local args = {}
    for _, member in ipairs(members) do
      args[#args + 1] = now
      args[#args + 1] = member
    end
    redis.call('ZREM', DUE, unpack(members))
    redis.call('ZADD', DEAD, unpack(args))
  end
end
