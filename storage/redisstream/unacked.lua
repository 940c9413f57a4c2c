-- Where a message that is not outstanding may be unacked all the same.

-- in_source_as gives the member by which the source has a message; nil without one. It is not asked while purge is pending.
local function in_source_as(member)
  for _, name in ipairs({member, letters.bare(member)}) do
    if state.src > 0 and redis.call('ZSCORE', SOURCE, name) then
      return name
    end
  end
end

-- is_in_log tells whether an entry is there.
local function is_in_log(member)
  local id = id_of(member)
  return #redis.call('XRANGE', LOG, id, id) > 0
end

local n_of = letters.n_of

local function is_ahead(member)
  return n_of(member) > state.n and is_in_log(member)
end

-- is_left tells whether a key left a message in the log.
local function is_left(member)
  local key = key_of(member)
  return key and overflow_of(key) and n_of(member) >= tonumber(redis.call('ZSCORE', OVERFLOWED, key)) and is_in_log(member)
end
