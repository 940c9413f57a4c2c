-- counts are what a subscription holds and has counted, in the order of the numbers that make Stats (stats.go), for a topic
-- that published n messages of sum bytes.
local function counts(n, sum)
  local out, dead = redis.call('ZCARD', OUT), redis.call('ZCARD', DEAD)
  local parked = out - dead - redis.call('ZCARD', LEASED) - redis.call('ZCARD', WAITING) - redis.call('HLEN', ACKED)
  local all = {n - state.n + state.over + state.src, out, dead, parked,
    sum - state.sum + state.bytes + state.overbytes + state.srcbytes, oldest_age()}
  for _, counter in ipairs(redis.call('HMGET', STATE, 'acked', 'nacked', 'expired', 'dropped', 'lost', 'moved', 'filtered', 'late')) do
    all[#all + 1] = tonumber(counter or 0)
  end
  return all
end
