package conformance

import (
	"testing"

	"go.uber.org/goleak"

	"postrider/storage/redistest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(redistest.Wrap(m),
		// What Google's client leaves running: for ever, and for some seconds after a subscriber has stopped.
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"),
		goleak.IgnoreAnyFunction("cloud.google.com/go/pubsub/v2.(*messageIterator).streamKeepAliveHandler"),
	)
}
