-- empty removes all of a closed topic's slot. For a day something stays that keeps a server which is that late from
-- opening the slot again.
local function empty(taken)
  redis.call('UNLINK', META, LOG, SUBS, FLOORS, taken)
  redis.call('HSET', META, 'v', FORMAT, 'closed', 1)
  redis.call('EXPIRE', META, 86400)
end
