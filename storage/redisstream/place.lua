-- Places in the log, between two messages (place_before.lua).
local log_end = read_end()
log_end.id = string.format('%.0f-%.0f', log_end.ms, log_end.n * 10000 + 9999)

-- before is the place before the first of so many entries, or the end.
local function before(entries)
  return entries[1] and place_before(entries[1]) or log_end
end

-- since is the place before the first message that was published at a time or later.
local function since(ms)
  return before(redis.call('XRANGE', LOG, string.format('%.0f-0', math.max(0, ms)), '+', 'COUNT', 1))
end

-- after is the place after an id, before what comes next.
local function after(id)
  return before(redis.call('XRANGE', LOG, '(' .. id, '+', 'COUNT', 1))
end

local function earlier(a, b)
  return b.n < a.n and b or a
end

local function later(a, b)
  return b.n > a.n and b or a
end

-- gather makes all that is outstanding the source.
local function gather()
  local outstanding = redis.call('ZCARD', OUT)
  if outstanding > 0 and state.src == 0 then
    redis.call('RENAME', OUT, SOURCE)
  elseif outstanding > MESSAGES_MAX then
    redis.call('ZUNIONSTORE', SOURCE, 2, SOURCE, OUT)
    redis.call('UNLINK', OUT)
  else -- a union writes all of the source again
    for _, member in ipairs(redis.call('ZRANGE', OUT, 0, -1)) do
      redis.call('ZADD', SOURCE, letters.n_of(member), member)
    end
    redis.call('UNLINK', OUT)
  end
  set('src', redis.call('ZCARD', SOURCE))
  set('srcbytes', state.srcbytes + state.bytes)
end

-- restart begins a new epoch at a place, with nothing outstanding. keep_left says whether what keys left in the log stays so.
local function restart(place, keep_left)
  redis.call('UNLINK', LEASED, WAITING, DEAD, OUT, DELIVERIES, ORDER, QUEUES, ACKED, HUNGRY, FAILURES, BLOCKED)
  if state.over > 0 and keep_left then
    redis.call('COPY', OVERFLOWED, HUNGRY)
  else
    redis.call('UNLINK', OVERFLOW, OVERFLOWED)
    set('over', 0)
    set('overbytes', 0)
  end
  set('id', place.id)
  set('n', place.n)
  set('sum', place.sum)
  set('epoch', state.epoch + 1)
  set('bytes', 0)
  set('bound', 0)
  set('used', now)
  settle_floor()
  save()
  announce('d ' .. SUB .. ' 0')
end
