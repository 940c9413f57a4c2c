-- What every script on a topic's slot starts with. Statuses are those of reply.go.
local OK, STALE, GONE, UNKNOWN = 0, 1, 2, 3
local FORMAT = '1'
local META, LOG, SUBS, FLOORS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

-- announce wakes who watches the topic. PUBLISH crosses slots: it reaches subscribers on every node of a cluster.
local function announce(what)
  redis.call('PUBLISH', ARGV[3], what)
end
