-- Checks that the topic is open and the caller's configuration is not stale, and reads where the log ends.
local TAKEN = KEYS[5]
local meta = redis.call('HMGET', META, 'v', 'closed', 'rev', 'n', 'ms', 'sum', 'max')
if not meta[1] or meta[2] then
  return {GONE}
end
if meta[1] ~= FORMAT then
  return {UNKNOWN, META, meta[1]}
end
local revision = tonumber(ARGV[2])
if revision < tonumber(meta[3]) then
  return {STALE}
end
if revision > tonumber(meta[3]) then
  retain('retention', tonumber(ARGV[5]))
end
local n, sum, largest = tonumber(meta[4]), tonumber(meta[6]), tonumber(meta[7])
local ms = tonumber(meta[5])

-- How a whole number is written: %d is several times cheaper than %.0f and .., but for large ones needs a Redis of 64 bits.
local call, format, sub = redis.call, string.format, string.sub
local WHOLE = format('%d', 1099511627776) == '1099511627776' and '%d' or '%.0f'
local ID, SUM = '%s' .. WHOLE .. '%s', '%s' .. WHOLE
local id_begin -- the ms of all ids of this step

-- append adds one entry to the log. head is the entry's h without the running sum; salt has four digits; keep is false
-- when nobody needs the message.
local function append(head, data, salt, keep)
  if not id_begin then
    ms = math.max(ms, now) -- a clock that was set back, or a replica's that lags, must not make ids fall
    id_begin = format('%.0f-', ms)
  end
  local size = tonumber(sub(head, 18, 25), 16)
  n = n + 1
  sum = sum + size
  if size > largest then
    largest = size
  end
  if keep then
    call('XADD', LOG, format(ID, id_begin, n, salt), 'h', format(SUM, head, sum), 'd', data)
  end
end

-- save_end writes where the log ends now, from which the next ids follow.
local function save_end()
  redis.call('HSET', META, 'rev', revision, 'n', n, 'ms', ms, 'sum', sum, 'max', largest)
end
