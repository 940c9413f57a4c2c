-- skip_old moves the cursor past what is older than the retention and has not been delivered. How much that is follows
-- from n alone. last is the n of the last message published.
local function skip_old(last)
  if state.n >= last or tonumber(string.match(state.id, '^%d+')) >= cutoff then
    return
  end
  local entry = redis.call('XREVRANGE', LOG, string.format('(%.0f-0', cutoff), '-', 'COUNT', 1)[1]
  if not entry then
    return
  end
  local n, _, sum = read(entry)
  if n > state.n then
    count('dropped', n - state.n)
    set('id', entry[1])
    set('n', n)
    set('sum', sum)
  end
end
