-- What every script on a subscription's state starts with: its keys, the revision check, and its fields as numbers.
local STATE, LEASED, WAITING, DEAD, OUT, DELIVERIES = unpack(KEYS, 5, 10)
local SUB = ARGV[4]
local FIELDS = {'rev', 'epoch', 'n', 'sum', 'bytes', 'bound', 'used',
  'acked', 'nacked', 'expired', 'dropped', 'lost', 'moved'}

local loaded = redis.call('HMGET', STATE, 'v', 'id', unpack(FIELDS))
if not loaded[1] then
  return {GONE}
end
if loaded[1] ~= FORMAT then
  return {UNKNOWN, STATE, loaded[1]}
end
local state = {id = loaded[2]}
for i, field in ipairs(FIELDS) do
  state[field] = tonumber(loaded[i + 2])
end
local changed = {}

-- set changes a field; save writes those that changed, at once.
local function set(field, value)
  state[field] = value
  changed[field] = true
end

local function count(field, by)
  if by ~= 0 then
    set(field, state[field] + by)
  end
end

local function save()
  local pairs_ = {}
  for field in pairs(changed) do
    pairs_[#pairs_ + 1] = field
    pairs_[#pairs_ + 1] = state[field]
  end
  if #pairs_ > 0 then
    redis.call('HSET', STATE, unpack(pairs_))
  end
end

local revision = tonumber(ARGV[2])
if revision < state.rev then
  return {STALE}
end
if revision > state.rev then
  -- Whatever call brings it wakes who waits under the old one: the revise that follows is not higher any more.
  set('rev', revision)
  announce('r ' .. SUB)
end
