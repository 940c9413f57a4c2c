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
		"catalog":      cataloguing,
		"feed":         feeding,
		"life":         living,
		"revision":     revising,
		"publish":      publishing,
		"delay":        delaying,
		"ttl":          outliving,
		"lease":        leasing,
		"settle":       settling,
		"confirm":      confirming,
		"remaining":    remaining,
		"retry":        retrying,
		"dead":         dying,
		"dead letter":  movingDead,
		"order":        ordering,
		"blocked":      blocking,
		"attempts":     remembering,
		"peek":         peeking,
		"redrive":      redriving,
		"redrive many": redrivingMany,
		"remove":       removing,
		"filter":       filtering,
		"breaker":      breaking,
		"push report":  pushReporting,
		"hasten":       hastening,
		"sweep":        sweeping,
		"trim":         trimming,
		"vanish":       vanishing,
		"retain":       retaining,
		"scale":        scaling,
		"seek":         seeking,
		"snapshot":     snapshotting,
		"wake":         waking,
		"watch":        watching,
		"keys":         keeping,
		"survey":       surveying,
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
	t.Run("feed of another store", func(t *testing.T) {
		t.Parallel()
		beatOtherLife(t, factory)
	})
}
