-- skip_old moves the cursor past what is older than the retention and has not been delivered. How much that is follows
-- from n alone. What keys left in the log is older still and goes, too: of what lies behind the cursor a refill could not
-- tell what was left and what was skipped. It tells whether it was anything. last is the n of the last message published.
local function skip_old(last)
  if state.n >= last or tonumber(string.match(state.id, '^%d+')) >= cutoff then
    return false
  end
  local next_ = redis.call('XRANGE', LOG, '(' .. state.id, '+', 'COUNT', 1)[1]
  if not next_ or tonumber(string.match(next_[1], '^%d+')) >= cutoff then
    return false -- to be known before XREVRANGE: where that finds nothing, it goes through the whole stream
  end
  local entry = redis.call('XREVRANGE', LOG, string.format('(%.0f-0', cutoff), '-', 'COUNT', 1)[1]
  local n = read(entry)
  count('dropped', n - state.n)
  set('id', entry[1])
  set('n', n)
  set('sum', sum_of(entry))
  drop_overflows()
  return true
end
