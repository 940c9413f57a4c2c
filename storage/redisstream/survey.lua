#!lua flags=allow-oom
-- survey: counts what a topic and some of its subscriptions hold, and keeps the counts of each for this minute.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors  5 …:history  6 …:delayed
--       then for each subscription, at most 50: …:s:SUB  …:leased:SUB  …:waiting:SUB  …:dead:SUB  …:out:SUB  …:acked:SUB
--       …:overflow:SUB  …:overflowed:SUB  …:source:SUB  …:redriven:SUB  …:history:SUB  …:order:SUB  …:keys:SUB
--       …:failures:SUB  …:blocked:SUB  …:report:SUB
-- ARGV  1 now or ''
-- gives {0, points of the topic, then for each subscription: its points, its breaker (kept_breaker.lua), its owner's report
--       (kept_report.lua), its blocked keys (blocked_keys.lua)}, each an empty list for none; all are where there is no state
--
-- A point is a text of numbers: ms, messages ever published, their bytes, then of a topic the messages in the log and those that
-- are not due yet, and of a subscription 0 and what counts.lua gives. history is a list of them, one a minute that had a survey, of the last hour and the one before.
--
-- A script, to be one round trip a topic, and so that the parts belong to one moment.
local HOUR, MINUTE = 3600000, 60000
local FIRST = 7

local meta = redis.call('HMGET', META, 'v', 'n', 'sum')
if meta[1] and meta[1] ~= FORMAT then
  return {UNKNOWN, META, meta[1]}
end
local published, bytes = tonumber(meta[2]), tonumber(meta[3])
if not published then
  return {OK, {}} -- never opened, or emptied
end

local function ms_in(point)
  return point and tonumber(string.match(point, '^%d+'))
end

-- keep puts a point to those of a list and gives all. The last one is of the same minute as often as not, and then replaced;
-- but two stay, so that there is something to compare with.
local function keep(key, numbers)
  local points = redis.call('LRANGE', key, 0, -1)
  local last = ms_in(points[#points])
  local at = math.max(now, last or 0)
  for i, n in ipairs(numbers) do
    numbers[i] = string.format('%.0f', n)
  end
  local point = string.format('%.0f ', at) .. table.concat(numbers, ' ')
  if #points > 1 and math.floor(last / MINUTE) == math.floor(at / MINUTE) then
    redis.call('LSET', key, -1, point)
    points[#points] = point
  else
    redis.call('RPUSH', key, point)
    points[#points + 1] = point
  end
  while #points > 1 and ms_in(points[2]) <= at - HOUR do
    redis.call('LPOP', key)
    table.remove(points, 1)
  end
  if ARGV[1] == '' then
    redis.call('PEXPIRE', key, HOUR)
  end
  return points
end

local stored, waiting = redis.call('XLEN', LOG), redis.call('ZCARD', KEYS[6])
local reply = {OK, keep(KEYS[5], {published, bytes, stored, waiting})}
for first = FIRST, #KEYS, SURVEYED do
  local found, version = look_at(first)
  if version then
    return {UNKNOWN, STATE, version}
  end
  local points, breaker, report, blocked = {}, {}, {}, {}
  if found then
    points = keep(HISTORY, {published, bytes, 0, unpack(counts(published, bytes))})
    breaker, report = kept_breaker() or {}, kept_report(REPORT) or {}
    blocked = blocked_keys(BLOCKED, QUEUES, ORDER, FAILURES) or {}
  end
  for _, part in ipairs({points, breaker, report, blocked}) do
    reply[#reply + 1] = part
  end
end
return reply
