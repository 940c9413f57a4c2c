package storagetest

import (
	"sync"
	"sync/atomic"

	"postrider/subscriptions"
)

var keeping = []check{
	{"signing keys are replaced in order", replaceKeys},
	{"one of many replaces signing keys", replaceKeysAtOnce},
}

func replaceKeys(r *rig) {
	has := func(want string) {
		r.Helper()
		got, err := r.Store.SigningKeys(r.Context())
		r.ok(err)
		same(r, "keys", got, want)
	}
	has("")
	r.code(r.Store.ReplaceSigningKeys(r.Context(), "a", "b"), subscriptions.Aborted)
	has("")
	r.ok(r.Store.ReplaceSigningKeys(r.Context(), "", "first\x00\r\n{}"))
	has("first\x00\r\n{}")
	for _, was := range []string{"", "first", "first\x00\r\n{}2"} {
		r.code(r.Store.ReplaceSigningKeys(r.Context(), was, "lost"), subscriptions.Aborted)
	}
	r.ok(r.Store.ReplaceSigningKeys(r.Context(), "first\x00\r\n{}", "second"))
	has("second")
}

func replaceKeysAtOnce(r *rig) {
	var all sync.WaitGroup
	var replaced atomic.Int32
	for range 8 {
		all.Go(func() {
			if r.Store.ReplaceSigningKeys(r.Context(), "", unique("keys")) == nil {
				replaced.Add(1)
			}
		})
	}
	all.Wait()
	same(r, "replacements", replaced.Load(), int32(1))
}
