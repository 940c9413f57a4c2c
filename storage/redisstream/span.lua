-- span finds how far the log can be read at once. Every entry has the sum of the sizes up to it, so two of them tell how large all
-- between them is, without reading it: one large message, long ago, does not make every page small.

-- span_of gives a place up to which at most about so many messages, and no more than so many bytes, follow another place; nil when
-- the next message alone has more, or no such place was met. from is {id, n, sum}, last where the log ends, {id, n, sum, ms}. It
-- reads some single entries, of more bytes than that at most the last. Ids begin with the time, so where an n stands is not known
-- but guessed, in three ways by turns: at the same millisecond, as if messages came evenly, and in the middle, near for what
-- comes in bursts.
local function span_of(from, last, most, bytes)
  if last.sum - from.sum <= bytes then
    return last
  end
  local PROBES = 12
  local low = {n = from.n, sum = from.sum, ms = tonumber(string.match(from.id, '^%d+'))}
  local high = {n = last.n, sum = last.sum, ms = last.ms}
  local looked = 0

  local function guess(turn)
    local gap, span, even = high.n - low.n, high.ms - low.ms, (bytes - low.sum + from.sum) / math.max(1, high.sum - low.sum)
    local n = low.n + math.max(2, math.floor(gap * (turn == 2 and 0.5 or math.min(even, 1))))
    n = math.min(n, from.n + most, high.n)
    return n, low.ms + math.floor(turn == 0 and 0 or turn == 1 and span * (n - low.n) / gap or math.sqrt(span))
  end

  for probe = 0, PROBES - 1 do
    if low.n >= from.n + most or high.n - low.n < 2 or looked > bytes then
      break
    end
    local n, ms = guess(probe % 3)
    local entry = redis.call('XRANGE', LOG, string.format('%.0f-%.0f', ms, n * 10000), '+', 'COUNT', 1)[1]
    if not entry then
      high.ms = ms
    else
      local place, _, size = place_before(entry), read(entry)
      looked = looked + size
      if place.sum - from.sum <= bytes then
        low = place
        low.ms = tonumber(string.match(entry[1], '^%d+'))
      else
        high = {n = place.n, sum = place.sum, ms = ms}
      end
    end
  end
  return low.n > from.n and low or nil
end
