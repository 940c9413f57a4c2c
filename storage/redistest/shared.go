package redistest

import (
	"sync"
	"testing"
)

// shared is the one server of this test binary, started by the first test that asks.
var shared struct {
	sync.Mutex
	server *Server
}

// Shared is one server for all tests of the binary. Tests run beside each other on it: each uses names of its own, none
// flushes, fills or stops it.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		s, err := start(t, nil)
		if err != nil {
			t.Fatalf("redistest: %v", err)
		}
		shared.server = s
	}
	return shared.server
}

// Main is what [testing.M] and goleak's TestingM have in common.
type Main interface{ Run() int }

// Wrap ends the shared server after the tests have run, before goleak counts goroutines. Without it the server ends with
// the binary all the same, but its goroutines count as leaks and its folder stays.
func Wrap(m Main) Main { return wrapped{m} }

type wrapped struct{ Main }

func (w wrapped) Run() int {
	defer func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.server != nil {
			shared.server.close()
			shared.server = nil
		}
	}()
	return w.Main.Run()
}
