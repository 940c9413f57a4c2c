-- What is due is appended to the log by whoever looks at it, before anything else, a bounded number at once. Without delayed
-- messages that costs one field of meta.
local read_end

do
  local DUE_MAX, DUE_BYTES = 100, 500000

  -- append_due appends what is due behind the end of the log, which it moves. Nothing is done to a slot that is being moved
  -- elsewhere. The id of an entry ends in the digits of the message's own: they were drawn when it was published.
  local function append_due(last)
    local meta = redis.call('HMGET', META, 'v', 'retention', 'delaybytes')
    if meta[1] ~= FORMAT then
      return
    end
    local attached = redis.call('HLEN', SUBS) > 0
    local needed = attached or meta[2] or redis.call('ZCARD', FLOORS) > 0
    local members = redis.call('ZRANGE', delayed.due, '-inf', now, 'BYSCORE', 'LIMIT', 0, DUE_MAX)
    local gone, bytes = {}, 0
    last.ms = math.max(last.ms, now)
    for i, member in ipairs(members) do
      local stored = redis.call('HGET', delayed.messages, member)
      gone[i] = member
      if stored then
        local length = string.byte(stored) == 50 and 38 or 25
        local size = tonumber(string.sub(stored, 18, 25), 16)
        bytes, last.n, last.sum, last.max = bytes + size, last.n + 1, last.sum + size, math.max(last.max, size)
        if needed then
          local id = string.format('%.0f-%.0f', tonumber(string.sub(member, 1, 13)), tonumber(string.sub(member, 15, 30)))
          redis.call('XADD', LOG, string.format('%.0f-%.0f%s', last.ms, last.n, string.sub(member, 27, 30)),
            'h', string.format('%s%.0f', string.sub(stored, 1, length), last.sum), 'd', delayed.own_id(id, string.sub(stored, length + 1)))
        end
        if bytes >= DUE_BYTES then
          break
        end
      end
    end
    if #gone > 0 then
      redis.call('ZREM', delayed.due, unpack(gone))
      redis.call('HDEL', delayed.messages, unpack(gone))
      redis.call('HSET', META, 'n', last.n, 'ms', last.ms, 'sum', last.sum, 'max', last.max,
        'delaybytes', tonumber(meta[3] or 0) - bytes)
    end
    last.due = delayed.note_due()
    if #gone > 0 and attached then
      announce('p')
    end
  end

  -- read_end gives where the log ends, {n, ms, sum, max, due, ttl}, with what is due in it. due is when the first delayed message
  -- is; nil without one. ttl is nil as long as no message had a time to live.
  function read_end()
    local meta = redis.call('HMGET', META, 'n', 'ms', 'sum', 'max', 'due', 'ttl')
    local last = {
      n = tonumber(meta[1]), ms = tonumber(meta[2]), sum = tonumber(meta[3]), max = tonumber(meta[4]), due = tonumber(meta[5]), ttl = meta[6],
    }
    if last.due and last.due <= now then
      append_due(last)
    end
    return last
  end
end
