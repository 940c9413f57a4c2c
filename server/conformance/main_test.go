package conformance

import (
	"testing"

	"go.uber.org/goleak"

	"postrider/storage/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(redistest.Wrap(m)) }
