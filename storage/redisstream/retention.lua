-- skip_old moves the cursor past what is older than the retention and has not been delivered. How much that is follows
-- from n alone. What keys left in the log is older still and goes, too: of what lies behind the cursor a refill could not
-- tell what was left and what was skipped. So does the source. It tells whether it was anything. last is the n of the last
-- message published.
local function skip_old(last)
  local entry = last_old(state.id, state.n, last, cutoff)
  if not entry then
    return false
  end
  local n = read(entry)
  count('dropped', n - state.n)
  set('id', entry[1])
  set('n', n)
  set('sum', sum_of(entry))
  drop_overflows()
  if state.src > 0 then
    count('dropped', state.src)
    drop_source()
  end
  return true
end
