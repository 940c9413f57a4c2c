-- kept_breaker is the open circuit breaker of a subscription: ms it has been open, ms until the next probe, failed probes,
-- endpoint, ms since which it is open, ms of the next probe; nil when it is closed.
local function kept_breaker()
  local kept = redis.call('HGET', STATE, 'breaker')
  if kept then
    local opened, probe, probes, endpoint = string.match(kept, '^(%d+) (%d+) (%d+) (.*)$')
    return {math.max(0, now - tonumber(opened)), time_to(tonumber(probe)), tonumber(probes), endpoint, tonumber(opened), tonumber(probe)}
  end
end
