-- The source: a second, finite log that leases read before the log itself, and in its order. A seek makes it of what was
-- outstanding, or of what a snapshot holds. While purge is LOW:HIGH, the set still has messages up to LOW and after HIGH that
-- are acked; src does not count them, srcbytes does.

local function purge_range()
  local low, high = string.match(state.purge, '^(%d+):(%d+)$')
  return tonumber(low), tonumber(high)
end

-- in_source is the first of the source: its member and n; nil without one.
local function in_source()
  if state.src > 0 then
    local first = redis.call('ZRANGE', SOURCE, string.format('(%.0f', purge_range() or -1), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    return first[1], tonumber(first[2])
  end
end

-- out_of_source takes members out of the source, so many of them counted in it and so large.
local function out_of_source(members, counted_, bytes_)
  if #members > 0 then
    redis.call('ZREM', SOURCE, unpack(members))
    set('src', state.src - counted_)
    set('srcbytes', state.src > 0 and state.srcbytes - bytes_ or 0) -- a vanished message took its size with it
  end
end

local function drop_source()
  redis.call('UNLINK', SOURCE)
  set('src', 0)
  set('srcbytes', 0)
  set('purge', '')
  if state.red > 0 then -- those of the source
    local gone = {}
    for _, letter in ipairs(redis.call('ZRANGE', letters.at, 0, -1)) do
      if not redis.call('ZSCORE', OUT, letter) then
        local _, key = letters.head_of(letter)
        if not (key and redis.call('ZSCORE', OUT, letter .. ':' .. key)) then
          gone[#gone + 1] = letter
        end
      end
    end
    for i = 1, #gone, 1000 do
      letters.forget(gone, i, math.min(i + 999, #gone))
    end
  end
end

-- purge takes out of the set what is acked, a bounded number at once, since only the log knows the sizes. It tells whether
-- all has gone.
local function purge()
  local low, high = purge_range()
  if not low then
    return true
  end
  local members = redis.call('ZRANGE', SOURCE, '-inf', low, 'BYSCORE', 'LIMIT', 0, MESSAGES_MAX)
  if #members == 0 then
    members = redis.call('ZRANGE', SOURCE, string.format('(%.0f', high), '+inf', 'BYSCORE', 'LIMIT', 0, MESSAGES_MAX)
  end
  local gone, bytes_ = {}, 0
  for i, member in ipairs(members) do
    local entry = letters.entry_of(member)
    if entry then
      local _, size = read(entry)
      bytes_ = bytes_ + size
    end
    gone[i] = member
    if bytes_ >= BYTES_MAX then
      break
    end
  end
  out_of_source(gone, 0, bytes_)
  if #gone == 0 then
    set('purge', '')
  end
  return #gone == 0
end
