-- The source: a second, finite log that leases read before the log itself, and in its order. A seek makes it of what was
-- outstanding, or of what a snapshot holds. While purge is LOW:HIGH, the set still has messages up to LOW and after HIGH that
-- are acked, and what of these was redriven; src does not count them, srcbytes does unless src is 0. Nothing comes from the source
-- or ahead of the cursor meanwhile, and nothing is redriven.
local EVERYTHING = '9000000000000000:9000000000000000' -- more than any n

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

-- drop_source empties the source. While something else is outstanding, what of the source was redriven has to be told from that:
-- purge does it.
local function drop_source()
  set('src', 0)
  set('srcbytes', 0)
  if state.red > 0 and redis.call('EXISTS', OUT) == 1 then
    set('purge', EVERYTHING)
    return
  end
  redis.call('UNLINK', SOURCE, letters.at, letters.kept)
  set('red', 0)
  set('purge', '')
end

-- purge takes out of the set what is acked, with what of it was redriven: a bounded number at once, since only the entries know
-- their sizes. It tells whether all has gone.
local function purge()
  local low, high = purge_range()
  if not low then
    return true
  end
  local after_ = string.format('(%.0f', high)
  local members = redis.call('ZRANGE', SOURCE, '-inf', low, 'BYSCORE', 'LIMIT', 0, MESSAGES_MAX)
  if #members == 0 then
    members = redis.call('ZRANGE', SOURCE, after_, '+inf', 'BYSCORE', 'LIMIT', 0, MESSAGES_MAX)
  end
  local gone, bytes_ = {}, 0
  for i, member in ipairs(members) do
    local entry = state.src > 0 and letters.entry_of(member) -- where nothing stays, no size is asked for
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
  letters.forget(gone)
  local done = redis.call('ZCOUNT', SOURCE, '-inf', low) + redis.call('ZCOUNT', SOURCE, after_, '+inf') == 0
  if done then
    set('purge', '')
  end
  return done
end
