// Package subscriptions is the domain: topics, subscriptions, messages, the
// rules of their delivery, and the Service that applies them to a Store. It
// knows no transport and no database.
//
// A message's life in one subscription:
//
//	                 publish
//	                    |
//	                    v
//	          ahead of the cursor ---- retention passed ----> dropped
//	                    |        \--- does not match --------> passed over
//	                  lease
//	                    v
//	  +------------> leased ------------- ack ----------> acked
//	  |                 |
//	lease    nack, or the lease runs out, or release
//	  |                 v
//	  +-- due -----  waiting ---- retention passed ----> dropped
//	                    |
//	        all attempts had (a dead-letter policy)
//	                    v
//	                  dead ---- moved by the sweep ----> dead-letter topic
//
// An attempt is a lease that was not released: the first has number 1. What is
// leased, waiting or dead is outstanding, and bounded. Nobody needs to pull for
// a message to become dead and to be moved: the server that owns the
// subscription sweeps it (ownership.go, sweep.go).
//
// Every change of a subscription's state is one atomic step of the Store
// (store.go), decided by the store's clock. Any server may take any step, so
// servers share nothing but the store.
package subscriptions
