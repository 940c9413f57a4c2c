#!lua flags=allow-oom
-- transfer_freeze: keeps every step from changing a topic's slot, or a project's catalog, while it is moved.
--
-- KEYS  1 postrider:{UID:0}:meta, then any of …:s:SUB; or a catalog alone
-- ARGV  1 the version that says "frozen"  2 the version that is known  3 wake channel or ''
-- gives {0, how many were not frozen before}
--
-- A script, since a version that is not known must keep all of it as it is. A meta that is not there is made, so that
-- nobody opens the slot meanwhile; a state that is not there is left alone.
local present = {}
for i, key in ipairs(KEYS) do
  present[i] = redis.call('HGET', key, 'v')
  if present[i] and present[i] ~= ARGV[1] and present[i] ~= ARGV[2] then
    return {3, key, present[i]}
  end
end
local frozen = 0
for i, key in ipairs(KEYS) do
  if present[i] ~= ARGV[1] and (present[i] or i == 1) then
    redis.call('HSET', key, 'v', ARGV[1])
    frozen = frozen + 1
  end
end
if frozen > 0 and ARGV[3] ~= '' then
  redis.call('PUBLISH', ARGV[3], 'm') -- who waits tries, and is told
end
return {0, frozen}
