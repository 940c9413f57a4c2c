#!lua flags=allow-oom
-- transfer_lock: lets one process at a time fill a store.
--
-- KEYS  1 postrider:{fleet}:mover
-- ARGV  1 the process  2 ms it holds the lock from now on; 0 gives it back
-- gives {0, 1 if it holds it, or held it}
--
-- A script, since only the holder may renew the lock or give it back.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return {0, 0}
end
if ARGV[2] == '0' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return {0, 1}
