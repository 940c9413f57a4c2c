#!lua flags=allow-oom
-- breaker: the circuit breaker that is kept of a push subscription.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
-- gives {0}, or {0, ms it has been open, ms until the next probe, failed probes, endpoint, ms since which it is open, ms of
--        the next probe}
--
-- A script, since a subscription that has gone must be told from one whose breaker is closed.
save()
return {OK, unpack(kept_breaker() or {})}
