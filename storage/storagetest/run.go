package storagetest

import "testing"

// check is one case.
type check struct {
	name string
	run  func(*rig)
}

// Run tests a store.
func Run(t *testing.T, factory Factory) {
	for name, checks := range map[string][]check{
		"publish": publishing,
		"lease":   leasing,
		"settle":  settling,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range checks {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(&rig{t, factory(t)})
				})
			}
		})
	}
}
