#!lua flags=allow-oom
-- transfer_claim: writes what a store says about a move from or to it, if nobody else did meanwhile.
--
-- KEYS  1 postrider:{fleet}:format  2 postrider:{fleet}:transfer
-- ARGV  1 the present format or ''  2 the present move's id or ''  3 the new format or ''
--       then the new move's fields and values; none ends the move
-- gives {0, 1 if it was written}
--
-- A script, since two moves must not both find the store free.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] or (redis.call('HGET', KEYS[2], 'id') or '') ~= ARGV[2] then
  return {0, 0}
end
redis.call('DEL', KEYS[2])
if #ARGV > 3 then
  redis.call('HSET', KEYS[2], unpack(ARGV, 4))
end
if ARGV[3] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[3])
end
return {0, 1}
