-- Delayed messages stand outside the log until they are due: delayed says when that is, delays has what a log entry would
-- have. meta has how many there ever were in delays, when the first is due in due, and the sizes of all in delaybytes.
-- The two keys are the last ones of whatever script knows them.
local delayed = {due = KEYS[#KEYS - 1], messages = KEYS[#KEYS]}

-- delayed.note_due writes when the first delayed message is due, and gives it; nil without one.
function delayed.note_due()
  local first = tonumber(redis.call('ZRANGE', delayed.due, 0, 0, 'WITHSCORES')[2])
  if first then
    redis.call('HSET', META, 'due', string.format('%.0f', first))
  else
    redis.call('HDEL', META, 'due', 'delaybytes')
  end
  return first
end

-- delayed.own_id puts a message's own id before it, as encode.go has it: its entry will have another one.
function delayed.own_id(id, data)
  return '\2' .. string.char(#id) .. id .. data
end
