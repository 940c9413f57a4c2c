package subscriptions

import (
	"postrider/subscriptions/filter"
)

// Routing selects messages as a topic exchange of AMQP does: by an attribute
// whose value is words between dots, and a pattern of such words, of which *
// stands for one and # for any number.
type Routing struct{ Attribute, Pattern string }

// Match selects messages by their attributes: by the filter and the routing of
// a subscription, both of them. It never changes, and any goroutine may use it.
// The nil Match selects all messages.
type Match struct {
	filter    *filter.Filter // nil selects all
	attribute string
	pattern   *filter.Pattern // nil selects all
}

// NewMatch compiles a filter, empty for none, and a routing, nil for none. It
// is nil without either. INVALID_ARGUMENT.
func NewMatch(expression string, r *Routing) (*Match, error) {
	if expression == "" && r == nil {
		return nil, nil
	}
	m := &Match{}
	var err error
	if expression != "" {
		if m.filter, err = filter.Parse(expression); err != nil {
			return nil, Errorf(InvalidArgument, "filter: %v", err)
		}
	}
	if r != nil {
		if r.Attribute == "" || len(r.Attribute) > MaxAttributeKey {
			return nil, Errorf(InvalidArgument, "postrider.routing.attribute: the key of an attribute is required, of at most %d bytes", MaxAttributeKey)
		}
		m.attribute = r.Attribute
		if m.pattern, err = filter.ParsePattern(r.Pattern); err != nil {
			return nil, Errorf(InvalidArgument, "postrider.routing.pattern: %v", err)
		}
	}
	return m, nil
}

// validateNewRouting refuses patterns that older versions took: stored ones keep
// working.
func (s Subscription) validateNewRouting() error {
	if s.Routing == nil {
		return nil
	}
	if err := filter.CheckWords(s.Routing.Pattern); err != nil {
		return Errorf(InvalidArgument, "postrider.routing.pattern: %v", err)
	}
	return nil
}

// Matches tells whether a message with these attributes is selected.
func (m *Match) Matches(attributes map[string]string) bool {
	if m == nil {
		return true
	}
	if m.filter != nil && !m.filter.Matches(attributes) {
		return false
	}
	if m.pattern == nil {
		return true
	}
	value, ok := attributes[m.attribute]
	return ok && m.pattern.Matches(value)
}

// prepared returns s with its selection compiled, once for all steps that are
// taken with the record. FAILED_PRECONDITION for one that this server cannot
// read.
func (s Subscription) prepared() (Subscription, error) {
	var err error
	if s.match, err = NewMatch(s.Filter, s.Routing); err != nil {
		return s, WrapError(err, FailedPrecondition, "%s has a filter that this server cannot read: a newer one wrote it", s.Name)
	}
	return s, nil
}

// selection is what prepared compiled. A record that did not come from the
// directory is one that was checked just now.
func (s Subscription) selection() *Match {
	if s.match != nil || s.Filter == "" && s.Routing == nil {
		return s.match
	}
	m, err := NewMatch(s.Filter, s.Routing)
	if err != nil {
		panic(err) // all that creates or reads a record has checked it
	}
	return m
}

// keepsRouting refuses a change of the whole object postrider that would
// change the routing with it.
func (s Subscription) keepsRouting(change Subscription) error {
	if orZero(s.Routing) != orZero(change.Routing) {
		return Errorf(InvalidArgument, "postrider.routing: cannot be changed after creation; repeat it as it is, or name other properties in updateMask")
	}
	return nil
}
