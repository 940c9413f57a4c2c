// Package pusher POSTs the messages of push subscriptions to their endpoints.
//
// A Manager runs one worker for each push subscription that this server owns.
// A worker leases what its window allows, POSTs each message in a goroutine of
// its own, and settles the outcomes in batches: what arrives while a step of
// the store is out goes with the next one. First attempt and retry are one
// path. A message that waits for a retry waits in the store, as a score; here
// nothing sleeps for it. So an idle subscription costs one blocked goroutine,
// and what becomes of a subscription (deleted, detached, turned to pull) is
// decided by the store, which grants no more leases.
//
//	wake-up --> lease --> POST --+--> acked    --+
//	              ^              +--> refused  --+--> settle
//	              |              +--> released --+      |
//	              +---------- a free place -------------+
//
// How much is leased is the flow's to say: a window by how the endpoint does, a
// push backoff for the whole subscription, limits of its own and of the server,
// and a circuit breaker that keeps the backlog while the endpoint is down.
//
// A POST ends when the ack deadline is over, counted from before its lease was
// asked for; the lease itself lasts a little longer. So a message is never with
// the endpoint twice at once, as long as the endpoint gives up a request whose
// connection has gone.
//
// To stop: cancel fetch, and nothing more is leased while the POSTs under way
// go on; cancel work, and those are broken off and their messages released,
// which spends no attempt. Run returns when all is settled. A subscription that
// is lost to another server, deleted, detached or turned to pull stops as by
// fetch alone: a POST under way has reached the endpoint already, so breaking
// it off would save nothing, and its outcome still counts where there is
// something left to settle.
package pusher
