-- Trimming: the log is cut to what a subscription, the retention, or the keeping of dead letters still needs.
local trim

do
  local TRIM_MAX = 1000

  -- kept_floor is the n up to which dead letters that were appended with nothing attached have outlived their time, and
  -- the id of the first that has not; nil when none is kept.
  local function kept_floor(kept, keep)
    local young = redis.call('XRANGE', LOG, string.format('%.0f-0', math.max(0, now - keep)), '+', 'COUNT', 1)[1]
    local at = young and tonumber(string.match(young[1], '%-(%d+)%d%d%d%d$'))
    if at and at <= kept then
      return at - 1, young[1]
    end
    redis.call('HDEL', META, 'kept', 'keep')
  end

  -- retained_floor is the n up to which messages are older than so many ms; last when all are.
  local function retained_floor(ms, last)
    local young = redis.call('XRANGE', LOG, string.format('%.0f-0', math.max(0, now - ms)), '+', 'COUNT', 1)[1]
    return young and tonumber(string.match(young[1], '%-(%d+)%d%d%d%d$')) - 1 or last
  end

  -- cut removes whole nodes of the stream up to a bound and tells how many entries went. XTRIM's LIMIT does not cut into
  -- a node, so a Redis set to very large nodes, and the end of a log that nobody needs any more, are cut exactly.
  local function cut(length, keep)
    local gone = redis.call('XTRIM', LOG, 'MAXLEN', '~', keep, 'LIMIT', TRIM_MAX)
    if gone == 0 and (keep == 0 or length - keep >= TRIM_MAX) then
      gone = redis.call('XTRIM', LOG, 'MAXLEN', math.max(keep, length - TRIM_MAX))
    end
    return gone
  end

  -- trim cuts a bounded number of entries and tells whether more can be cut. No more than (last n - floor) entries lie above
  -- the lowest floor, so as many of the newest are kept: no id has to be known. Unless the log can be emptied, nothing is done
  -- for fewer than a node's worth of entries, or of bytes.
  function trim(eager)
    local meta = redis.call('HMGET', META, 'n', 'max', 'kept', 'keep', 'v', 'retained', 'closed')
    local last, largest = tonumber(meta[1]), tonumber(meta[2])
    if not last or meta[5] ~= FORMAT then
      return false
    end
    local floor = tonumber(redis.call('ZRANGE', FLOORS, 0, 0, 'WITHSCORES')[2]) or last
    if meta[7] and redis.call('HLEN', SUBS) == 0 then
      floor = last -- there is nobody left to seek to a snapshot
    end
    if meta[6] then
      floor = math.min(floor, retained_floor(tonumber(meta[6]), last))
    end
    local length = redis.call('XLEN', LOG)
    local young, id
    if meta[3] then
      young, id = kept_floor(tonumber(meta[3]), tonumber(meta[4]))
    end
    if young and young < floor then
      return redis.call('XTRIM', LOG, 'MINID', '~', id, 'LIMIT', TRIM_MAX) > 0
    end
    local keep = last - floor
    local excess = length - keep
    local worth = eager and 1 or math.max(1, math.min(100, math.floor(1000000 / math.max(1, largest))))
    if excess <= 0 or (keep > 0 and excess < worth) then
      return false
    end
    local gone = cut(length, keep)
    return gone > 0 and excess - gone >= (keep > 0 and 100 or 1)
  end
end
