#!lua flags=allow-oom
-- push_report: what the owner said last of its pushes.
--
-- KEYS  1 postrider:{UID:0}:meta  2 …:log  3 …:subs  4 …:floors
--       5 …:s:SUB  6 …:leased:SUB  7 …:waiting:SUB  8 …:dead:SUB  9 …:out:SUB  10 …:deliveries:SUB
--       11 …:order:SUB  12 …:keys:SUB  13 …:acked:SUB  14 …:overflow:SUB  15 …:overflowed:SUB  16 …:hungry:SUB
--       17 …:confirmed:SUB  18 …:failures:SUB  19 …:blocked:SUB
--       20 …:source:SUB  21 …:redriven:SUB  22 …:letters:SUB  23 …:report:SUB
-- ARGV  1 now or ''  2 revision  3 wake channel  4 subscription uid
-- gives {0}, or {0, ms since it was said, JSON}
--
-- A script, since its age counts by Redis's clock.
save()
return {OK, unpack(kept_report(KEYS[23]) or {})}
