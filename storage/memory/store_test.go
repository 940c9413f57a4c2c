package memory

import (
	"testing"

	"go.uber.org/goleak"

	"postrider/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fixture(*testing.T) storagetest.Fixture {
	clock := storagetest.NewClock()
	s := New(Options{Now: clock.Now, Salt: storagetest.Salt})
	return storagetest.Fixture{Store: s, Clock: clock, LogLength: s.LogLength, Vanish: s.Vanish}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, fixture)
}
