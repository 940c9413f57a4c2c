-- place_before is the place in the log just before an entry: {id, n, sum}. No entry has the id of a place.
local function place_before(entry)
  local n, size = read(entry)
  return {id = string.format('%s-%.0f', string.match(entry[1], '^%d+'), n * 10000 - 1), n = n - 1, sum = sum_of(entry) - size}
end
