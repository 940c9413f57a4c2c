#!lua flags=allow-oom
-- transfer_thaw: undoes transfer_freeze.
--
-- KEYS  1 postrider:{UID:0}:meta, then any of …:s:SUB; or a catalog alone
-- ARGV  1 the version that says "frozen"  2 the version to put there, '' for none  3 wake channel or ''
-- gives {0}
--
-- A script, since the look and the change must be one step. What freezing made goes away.
for i, key in ipairs(KEYS) do
  if redis.call('HGET', key, 'v') == ARGV[1] then
    if ARGV[2] == '' or i == 1 and redis.call('HLEN', key) == 1 then
      redis.call('HDEL', key, 'v')
    else
      redis.call('HSET', key, 'v', ARGV[2])
    end
  end
end
if ARGV[3] ~= '' then
  redis.call('PUBLISH', ARGV[3], 'm')
end
return {0}
