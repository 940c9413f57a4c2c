package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postrider/server/api"
	"postrider/server/wire"
)

// topicFlags are the fields of a topic as flags, with the names that Google's own command line gives them.
type topicFlags struct {
	set       *pflag.FlagSet
	retention duration
	labels    pairs
}

func (f *topicFlags) bind(set *pflag.FlagSet) {
	f.set = set
	set.Var(&f.retention, "message-retention-duration", "`TIME` that every message is kept for seeks, acknowledged or not, 10m to 31d")
	set.Var(&f.labels, "label", "`KEY=VALUE` of a label; may be repeated; all labels together")
}

// bindClear adds the flags that an update can take fields away with.
func (f *topicFlags) bindClear(c *cobra.Command) {
	f.set.Bool("clear-message-retention-duration", false, "keep only what a subscription needs")
	f.set.Bool("clear-labels", false, "remove all labels")
	c.MarkFlagsMutuallyExclusive("label", "clear-labels")
	c.MarkFlagsMutuallyExclusive("message-retention-duration", "clear-message-retention-duration")
	c.MarkFlagsOneRequired("label", "clear-labels", "message-retention-duration", "clear-message-retention-duration")
}

// mask names the fields that flags were given for.
func (f *topicFlags) mask() wire.FieldMask {
	var paths []string
	for _, m := range []struct{ flag, path string }{{"message-retention-duration", "messageRetentionDuration"}, {"label", "labels"}} {
		if f.set.Changed(m.flag) || f.set.Changed("clear-"+m.flag) || f.set.Changed("clear-"+m.path) {
			paths = append(paths, m.path)
		}
	}
	return wire.FieldMask(strings.Join(paths, ","))
}

// topic is what the flags say.
func (f *topicFlags) topic() api.Topic {
	t := api.Topic{Labels: f.labels}
	if f.set.Changed("message-retention-duration") {
		t.MessageRetentionDuration = wire.NewDuration(time.Duration(f.retention))
	}
	return t
}
