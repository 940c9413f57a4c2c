-- first_id is where a stream of changes begins: at a random number within the millisecond, so that a position in one stream
-- is none in another, also when both began at the same time.
local function first_id(random)
  local time = redis.call('TIME')
  return string.format('%.0f-%s', time[1] * 1000 + math.floor(time[2] / 1000), random)
end
