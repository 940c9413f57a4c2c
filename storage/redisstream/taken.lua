-- Which dead letters a topic took, so that it takes none a second time: it remembers a name for so many ms after its score.

-- forget_old drops names that are remembered no longer. Bounded, like everything here: what is left goes with the next step.
local function forget_old(taken, remember)
  local old = redis.call('ZRANGE', taken, '-inf', now - remember, 'BYSCORE', 'LIMIT', 0, 100)
  if #old > 0 then
    redis.call('ZREM', taken, unpack(old))
  end
end

-- is_taken tells whether a name is remembered.
local function is_taken(taken, remember, name)
  return tonumber(redis.call('ZSCORE', taken, name) or '-inf') > now - remember
end
