-- first_rank is the rank of the first member of a set, in order of the log, of which something holds that also holds of all that
-- follow. None need be there that is just so, which a score could be asked for.
local function first_rank(key, holds)
  local low, high = 0, redis.call('ZCARD', key)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if holds(redis.call('ZRANGE', key, middle, middle)[1]) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end
