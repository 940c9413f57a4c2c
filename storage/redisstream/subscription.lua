-- What every script on a subscription's state starts with: its keys, the revision check, and the fields that steps act on.
local STATE, LEASED, WAITING, DEAD, OUT, DELIVERIES = unpack(KEYS, 5, 10)
local ORDER, QUEUES, ACKED, OVERFLOW, OVERFLOWED, HUNGRY = unpack(KEYS, 11, 16)
local CONFIRMED, FAILURES, BLOCKED, SOURCE = unpack(KEYS, 17, 20)
local letters = {at = KEYS[21], kept = KEYS[22]} -- a table, since Lua has room for 200 local names
local SUB = ARGV[4]

local loaded = redis.call('HMGET', STATE, 'v', 'rev', 'epoch', 'id', 'n', 'sum', 'bytes', 'bound', 'max', 'over', 'overbytes',
  'src', 'srcbytes', 'purge', 'red')
if not loaded[1] then
  return {GONE}
end
if loaded[1] ~= FORMAT then
  return {UNKNOWN, STATE, loaded[1]}
end
local state = {
  epoch = tonumber(loaded[3]), id = loaded[4], n = tonumber(loaded[5]), sum = tonumber(loaded[6]),
  bytes = tonumber(loaded[7]), bound = tonumber(loaded[8]), max = tonumber(loaded[9]),
  over = tonumber(loaded[10]), overbytes = tonumber(loaded[11]),
  src = tonumber(loaded[12] or 0), srcbytes = tonumber(loaded[13] or 0), purge = loaded[14] or '', -- older states have none
  red = tonumber(loaded[15] or 0),
}
local changed, counted = {}, {}

-- set changes a field and count a counter; save writes what changed, at once.
local function set(field, value)
  state[field] = value
  changed[field] = true
end

local function count(field, by)
  counted[field] = (counted[field] or 0) + by
end

local function save()
  local args = {}
  for field in pairs(changed) do
    args[#args + 1], args[#args + 2] = field, state[field]
  end
  if #args > 0 then
    redis.call('HSET', STATE, unpack(args))
  end
  for field, by in pairs(counted) do
    if by ~= 0 then
      redis.call('HINCRBY', STATE, field, by)
    end
  end
end

local revision = tonumber(ARGV[2])
if revision < tonumber(loaded[2]) then
  return {STALE}
end
if revision > tonumber(loaded[2]) then
  -- Whatever call brings it wakes who waits under the old one: the revise that follows is not higher any more.
  set('rev', revision)
  announce('r ' .. SUB)
end
