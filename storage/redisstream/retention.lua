-- skip_old moves the cursor past what is older than the retention and has not been delivered. How much that is follows
-- from n alone. last is the end of the log: its n, ms and sum.
local function skip_old(last)
  if state.n >= last.n or tonumber(string.match(state.id, '^%d+')) >= cutoff then
    return
  end
  local from = string.format('%.0f-0', cutoff)
  local entry = redis.call('XRANGE', LOG, from, '+', 'COUNT', 1)[1]
  local n, size, sum, ms = last.n + 1, 0, last.sum, last.ms
  if entry then
    n, size, sum = read(entry)
    ms = tonumber(string.match(entry[1], '^%d+'))
  end
  if n - 1 > state.n then
    count('dropped', n - 1 - state.n)
    -- No entry has this id. It stands after every entry up to n - 1 and before all others.
    set('id', string.format('%.0f-%.0f', ms, (n - 1) * 10000 + 9999))
    set('n', n - 1)
    set('sum', sum - size)
  end
end
