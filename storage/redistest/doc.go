// Package redistest starts private Redis servers for tests.
//
// Every server is a real redis-server process that belongs to the test binary: it listens where nobody else looks (a unix
// socket in a temporary folder, or a free port on loopback), keeps nothing of the machine's own Redis, and ends with the
// binary, also when that is killed.
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(redistest.Wrap(m)) }
//
//	func TestPublish(t *testing.T) {
//		t.Parallel()
//		client := redistest.Shared(t).Client(t) // one server a binary: use a key prefix a test, flush nothing
//		…
//	}
//
// A test that counts commands, fills the memory or kills Redis takes a server of its own with [Start]; [Cluster], [Sentinel]
// and [TLS] start the other ways in which Postrider meets a Redis. A machine without redis-server fails these tests, since a
// skipped test looks like a passed one.
package redistest
