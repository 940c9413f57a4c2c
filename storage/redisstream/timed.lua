-- Messages with a time to live or a time to be delivered. Go gives, in place of h: T, the key's hash and the size as in h, then
-- ms to live, ms of delay, and ms at which it is due, each or '', with colons between. publish.lua calls this.
local delays, due, delay_bytes -- what meta says of delayed messages; delays is nil until one comes
local first_delayed, at_once = nil, {} -- the count before them, and the places of those that are due already
local DELAYED_IDS = 500000000000 -- as in message.go

local function load_delays()
  if not delays then
    local stored = redis.call('HMGET', META, 'delays', 'due', 'delaybytes')
    delays, due, delay_bytes = tonumber(stored[1] or 0), tonumber(stored[2]), tonumber(stored[3] or 0)
    first_delayed = delays
  end
end

-- publish_timed appends a message, or keeps it aside until it is due. place counts the messages of the step from 0.
local function publish_timed(given, data, salt, keep, place)
  local ttl, delay, at = string.match(given, '^(%d*):(%d*):(%d*)$', 26)
  local when = at ~= '' and math.max(now, tonumber(at)) or delay ~= '' and now + delay or now
  local head = '1' .. sub(given, 2, 25)
  if ttl ~= '' then
    local over = when + ttl
    head = '2' .. sub(given, 2, 25) .. format('%013.0f', over)
    note_ttl(over)
  end
  if at == '' and delay == '' then
    append(head, data, salt, keep)
    return
  end
  load_delays()
  ms, delays = math.max(ms, now), delays + 1
  local seq = format('%.0f%s', DELAYED_IDS + delays, salt)
  local id = format('%.0f-%s', ms, seq)
  if when <= now then
    append(head, delayed.own_id(id, data), salt, keep)
    at_once[#at_once + 1] = place
    return
  end
  local member = format('%013.0f-%s', ms, seq)
  redis.call('ZADD', delayed.due, when, member)
  redis.call('HSET', delayed.messages, member, head .. data)
  delay_bytes = delay_bytes + tonumber(sub(given, 18, 25), 16)
end

-- save_delays writes what has changed, and tells waiters when one is due earlier than was known.
local function save_delays(attached)
  if delays then
    redis.call('HSET', META, 'delays', string.format('%.0f', delays))
    if redis.call('EXISTS', delayed.due) == 1 then
      redis.call('HSET', META, 'delaybytes', delay_bytes)
      local next_ = delayed.note_due()
      if attached and (not due or next_ < due) then
        announce(string.format('d  %.0f', math.max(0, next_ - now)))
      end
    end
  end
end
