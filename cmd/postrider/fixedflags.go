package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// fixedFlags are the flags of "subscriptions create" for what cannot be changed later, with what each is about. "subscriptions
// update" knows them only to say so.
var fixedFlags = []struct{ flag, what string }{
	{"topic", "topic"},
	{"enable-message-ordering", "ordering"},
	{"message-filter", "filter"},
	{"routing-attribute", "routing pattern"},
	{"routing-pattern", "routing pattern"},
}

// bindTopic adds the topic to create from.
func (f *subscriptionFlags) bindTopic(set *pflag.FlagSet) {
	set.StringVar(&f.topic, "topic", "", "`TOPIC` to subscribe to (required)")
}

// bindRefused adds the flags of what cannot be changed, hidden, so that they are refused by checkFixed rather than unknown.
func (f *subscriptionFlags) bindRefused(c *cobra.Command) {
	f.bindTopic(c.Flags())
	f.bindFixed()
	for _, fixed := range fixedFlags {
		_ = c.Flags().MarkHidden(fixed.flag) // fails only for a flag that does not exist
	}
}

// checkFixed refuses what cannot be changed, and says what to do in its place.
func (f *subscriptionFlags) checkFixed(c *cobra.Command, name string) error {
	for _, fixed := range fixedFlags {
		if c.Flags().Changed(fixed.flag) {
			return usagef("--%s: the %s of a subscription cannot be changed once it is created. Create another one in place of %s: %s --help tells how to lose no message",
				fixed.flag, fixed.what, name, c.CommandPath())
		}
	}
	return nil
}

// replaceHelp tells how to get what cannot be changed.
const replaceHelp = `
The topic, the ordering, the filter and the routing pattern cannot be changed, as at Google. For these, put another subscription
in its place. It gets what is published from then on, so that nothing is lost; what the old one gets meanwhile comes from both:

  postrider subscriptions create billing-2 --topic orders --message-filter 'attributes.kind = "invoice"'
  wait until receivers have taken what the old one had: postrider explain billing
  let receivers take from billing-2, then: postrider subscriptions delete billing

Where filter and routing pattern stay, as for the ordering, stop what takes from the old one; a snapshot then takes along what it
has not acknowledged:

  postrider snapshots create billing-then --subscription billing
  postrider subscriptions create billing-2 --topic orders --enable-message-ordering
  postrider seek billing-2 --snapshot billing-then
  postrider subscriptions delete billing`
