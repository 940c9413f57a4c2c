package memory

import (
	"reflect"
	"testing"
	"time"
)

// What no record holds today one may hold tomorrow.
func TestClone(t *testing.T) {
	t.Parallel()
	type inner struct {
		Words []string
		When  time.Time
	}
	type record struct {
		List    []*inner
		Map     map[string]*inner
		Pointer *inner
		Nothing *inner
		None    []string
		private int
	}
	build := func() record {
		in := func() *inner { return &inner{Words: []string{"a", "b"}, When: time.Unix(1, 0)} }
		return record{List: []*inner{in()}, Map: map[string]*inner{"k": in()}, Pointer: in(), private: 7}
	}
	original := build()
	copied := clone(original)
	if !reflect.DeepEqual(copied, build()) {
		t.Fatalf("the copy is %+v", copied)
	}
	for _, in := range []*inner{copied.List[0], copied.Map["k"], copied.Pointer} {
		in.Words[0] = "changed"
	}
	copied.List[0] = nil
	delete(copied.Map, "k")
	if !reflect.DeepEqual(original, build()) {
		t.Errorf("changing the copy changed the original: %+v", original)
	}
}
