package wire_test

import (
	"testing"

	"github.com/oapi-codegen/runtime"

	"postrider/server/wire"
)

func TestMain(m *testing.M) {
	// The codec is one for the whole process, so no test may set it by itself.
	runtime.SetJSONCodec(wire.Codec{})
	m.Run()
}
