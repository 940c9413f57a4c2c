-- The parts of the configuration that steps act on, and what they mean for a failed attempt.
local RULES = 5
local max_attempts, retention = tonumber(ARGV[RULES]), tonumber(ARGV[RULES + 1])
local bound, jitter = tonumber(ARGV[RULES + 2]), tonumber(ARGV[RULES + 3])
local failures = tonumber(ARGV[RULES + 4]) -- failed attempts that earlier calls of the same step already spread
local ordered = ARGV[RULES + 5] == '1'
local bury_late = ARGV[RULES + 6] == '1' -- whether a message is dead when its time to live is over, rather than dropped
local spans = tonumber(ARGV[RULES + 7])
local REST = RULES + 8 + 2 * spans -- the first argument after the rules
-- What was published before is too old. The topic may keep it for longer.
local cutoff = now - math.max(retention, tonumber(redis.call('HGET', META, 'retention') or 0))
if max_attempts ~= state.max then
  set('max', max_attempts) -- for steps that bring no rules
end

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
  local at = RULES + 6 + 2 * math.min(math.max(attempt, 1), spans)
  local low, high = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  return low + math.floor(u * (high - low))
end

-- expire turns leases that ran out into waiting messages, or dead ones.
local function expire()
  local old = redis.call('ZRANGE', LEASED, '-inf', now, 'BYSCORE', 'LIMIT', 0, MESSAGES_MAX, 'WITHSCORES')
  local members, wait, dead, expired = {}, {}, {}, 0
  for i = 1, #old, 2 do
    members[#members + 1] = old[i]
  end
  local numbers, released = counts_of(members)
  for i, member in ipairs(members) do
    if not sent[member] then
      expired = expired + 1
      local attempts = numbers[i] - released[i]
      local last = exhausted(attempts)
      local at = last and now or tonumber(old[2 * i]) + delay(attempts)
      failed(member, tonumber(old[2 * i]), attempts, EXPIRED)
      if key_of(member) then
        come_again(member, numbers[i], released[i], at, last)
      elseif last then
        dead[#dead + 1], dead[#dead + 2] = now, member
      else
        wait[#wait + 1], wait[#wait + 2] = at, member
      end
    end
  end
  count('expired', expired)
  save_failures()
  move(LEASED, WAITING, wait)
  move(LEASED, DEAD, dead)
  urgent = urgent or #dead > 0
end
