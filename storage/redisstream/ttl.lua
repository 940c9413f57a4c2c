-- Times to live. meta has the latest moment at which a message of the log is over in ttl, so that what never had any costs
-- nothing.
local function note_ttl(over)
  if over > tonumber(redis.call('HGET', META, 'ttl') or 0) then
    redis.call('HSET', META, 'ttl', string.format('%.0f', over))
  end
end
