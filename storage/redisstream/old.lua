-- last_old is the last entry of the log after a cursor that is older than a time; nil without one. last is the n of the last
-- message published.
local function last_old(id, n, last, cutoff_)
  if n >= last or tonumber(string.match(id, '^%d+')) >= cutoff_ then
    return nil
  end
  local next_ = redis.call('XRANGE', LOG, '(' .. id, '+', 'COUNT', 1)[1]
  if not next_ or tonumber(string.match(next_[1], '^%d+')) >= cutoff_ then
    return nil -- to be known before XREVRANGE: where that finds nothing, it goes through the whole stream
  end
  return redis.call('XREVRANGE', LOG, string.format('(%.0f-0', cutoff_), '-', 'COUNT', 1)[1]
end
