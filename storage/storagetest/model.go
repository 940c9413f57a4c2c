package storagetest

import (
	"slices"
	"time"

	"postrider/subscriptions"
)

// The model knows less than a store: not when a message will come, but what may never happen to one.

type modelTopic struct {
	ref    subscriptions.TopicRef
	closed bool
	n      int64 // messages ever
	// attributes are those of all messages, in their order.
	attributes []map[string]string
	delayed    []modelDelayed
	over       map[subscriptions.MessageID]int64 // when a message may not be delivered any more
	last       subscriptions.MessageID
	taken      map[takenKey]bool
	snaps      []*modelSnap
	// lives are the times at which messages were put back, all that a seek or a snapshot may know a message by.
	lives map[subscriptions.MessageID][]int64
	// raised is when more began to be retained: what of earlier messages is still there is each store's affair.
	raised int64
}

type takenKey struct {
	source string
	id     subscriptions.MessageID
}

// published checks that ids count up.
func (t *modelTopic) published(m *machine, id subscriptions.MessageID) {
	t.n++
	if id.N() != t.n || id.Compare(t.last) <= 0 || id.Milli < m.now() {
		m.Fatalf("the %d-th message got the id %s, after %s", t.n, id, t.last)
	}
	t.last = id
}

type modelSub struct {
	topic    *modelTopic
	ref      subscriptions.Ref
	name     subscriptions.SubscriptionName
	rules    subscriptions.Rules
	from     int64 // how many messages the topic had when it was attached; 0 once it may get some of them
	settled  int64 // how many messages of the topic the stats do not count: earlier ones, and what seeks did
	epoch    int64
	raised   int64 // as the topic's
	messages map[subscriptions.MessageID]*modelMessage
	handed   []subscriptions.Receipt
	dead     []subscriptions.Delivery
	acks     map[subscriptions.Receipt]int64  // those confirmed, and until when their leases would have gone on
	final    map[subscriptions.MessageID]bool // what they settled
	bodies   map[subscriptions.MessageID]subscriptions.Message
	back     map[subscriptions.MessageID]int64 // when they were put back, which no earlier delivery can have been confirmed since
	redriven int64                             // how many were put back, which no log need hold
}

// modelMessage is what a subscription knows of a message.
type modelMessage struct {
	number, released int64
	until            int64 // of its lease; 0 when that was ended
	gone             bool
	unsure           bool  // about released
	since            int64 // when it was put back
}

// checkStats checks that every message is in exactly one place.
func (s *modelSub) checkStats(m *machine, got subscriptions.Stats) {
	m.Helper()
	sum := got.Undelivered + got.Outstanding + got.Acked + got.Dropped + got.Late + got.Lost + got.DeadLettered + got.Filtered
	if published := s.topic.n - s.settled; sum != published {
		m.Fatalf("of %d messages %d are accounted for: %+v", published, sum, got)
	}
	unacked := got.Undelivered + got.Outstanding
	switch {
	case got.Dead > got.Outstanding, got.Undelivered < 0, got.Lost > 0, s.epoch == 0 && got.Filtered > s.unmatched():
		m.Fatalf("stats make no sense: %+v", got)
	case unacked > got.Bytes, unacked == 0 && (got.Bytes != 0 || got.OldestAge != 0):
		m.Fatalf("bytes or age make no sense: %+v", got)
	}
	for i, side := range m.sides {
		if held := side.LogLength(s.ref.Topic); int64(held)+s.redriven < unacked {
			m.Fatalf("log %d holds %d messages, %d are unacked", i, held, unacked)
		}
	}
}

// unmatched is how many of the messages published since it was attached do not match.
func (s *modelSub) unmatched() (n int64) {
	for _, attributes := range s.topic.attributes[s.from:] {
		if !s.rules.Match.Matches(attributes) {
			n++
		}
	}
	return n
}

// leased checks what a lease brought.
func (s *modelSub) leased(m *machine, r subscriptions.LeaseRequest, got subscriptions.LeaseResult) {
	m.Helper()
	for _, d := range got.Deliveries {
		if over := s.topic.over[d.Message.ID]; over != 0 && over <= m.now() && s.back[d.Place()] == 0 { // what comes back has no time to live
			m.Fatalf("%s was late by %d ms", d.Message.ID, m.now()-over)
		}
		if !s.rules.Match.Matches(d.Message.Attributes) {
			m.Fatalf("%s does not match", d.Message.ID)
		}
		s.bodies[d.Place()] = d.Message
	}
	if s.rules.Ordered {
		s.inOrder(m, got.Deliveries)
		return
	}
	bytes, fresh := 0, 0
	var last subscriptions.Delivery
	for i, d := range got.Deliveries {
		msg := s.delivered(m, r, d)
		again := d.Number > 1
		if !again {
			fresh++
		}
		sure := s.back[d.Place()] == 0 && s.back[last.Place()] == 0 // a redriven message has a higher number, and may come as new ones do
		if i > 0 && sure && ((last.Number > 1) == again && d.Place().Compare(last.Place()) <= 0 || last.Number == 1 && again) {
			m.Fatalf("%s came after %s", d.Message.ID, last.Message.ID)
		}
		msg.until = m.now() + int64(r.Deadline/time.Millisecond)
		bytes += d.Message.Size()
		s.handed = append(s.handed, d.Receipt())
		last = d
	}
	switch count := len(got.Deliveries); {
	case count > r.Max, count > 1 && bytes > r.MaxBytes:
		m.Fatalf("%d messages of %d bytes were leased", count, bytes)
	case fresh > 0 && m.stats(s).Outstanding > int64(r.Rules.Outstanding):
		m.Fatalf("%d new messages were leased beyond the bound", fresh)
	}
}

// delivered checks one message of a lease.
func (s *modelSub) delivered(m *machine, r subscriptions.LeaseRequest, d subscriptions.Delivery) *modelMessage {
	m.Helper()
	id := d.Place()
	msg := s.messages[id]
	if msg == nil {
		msg = &modelMessage{}
		s.messages[id] = msg
	}
	if life := d.Number - 1; msg.number == 0 && slices.Contains(s.topic.lives[id], life) { // a seek or a snapshot knows it as it was then
		msg.number, msg.released, msg.since = life, life, life
	}
	msg.number++
	switch {
	case id.N() <= s.from || id.N() > s.topic.n:
		m.Fatalf("%s was not published to this subscription", id)
	case msg.gone:
		m.Fatalf("%s was leased after it was settled", id)
	case msg.until > m.latest:
		m.Fatalf("%s was leased twice at once", id)
	case d.Number != msg.number || d.Attempt != int(msg.number-msg.released) && !msg.unsure:
		m.Fatalf("delivery %d, attempt %d of %s, want %d and %d", d.Number, d.Attempt, id, msg.number, msg.number-msg.released)
	case r.Rules.MaxAttempts > 0 && d.Attempt > r.Rules.MaxAttempts:
		m.Fatalf("attempt %d of %s, with %d allowed", d.Attempt, id, r.Rules.MaxAttempts)
	case m.now()-max(id.Milli, msg.since) > max(r.Rules.Retention, s.topic.ref.Retention).Milliseconds():
		m.Fatalf("%s outlived the retention", id)
	}
	return msg
}

// swept checks what a sweep found.
func (s *modelSub) swept(m *machine, r subscriptions.SweepRequest, got subscriptions.SweepResult) {
	m.Helper()
	if len(got.Dead) > r.Max {
		m.Fatalf("%d dead messages were taken, want at most %d", len(got.Dead), r.Max)
	}
	if s.rules.Ordered {
		s.dead = append(s.dead, got.Dead...)
		return
	}
	for _, d := range got.Dead {
		msg := s.messages[d.Place()]
		if d.Late {
			if over := s.topic.over[d.Message.ID]; !s.rules.DeadLetterLate || over == 0 || over > m.latest {
				m.Fatalf("%s is not late", d.Message.ID)
			}
			if msg == nil {
				s.messages[d.Place()] = &modelMessage{}
			}
			continue
		}
		if msg == nil || msg.gone || d.Number != msg.number || r.Rules.MaxAttempts == 0 || d.Attempt < r.Rules.MaxAttempts {
			m.Fatalf("%s is not dead after attempt %d of %d", d.Message.ID, d.Attempt, r.Rules.MaxAttempts)
		}
		if msg.until > m.latest {
			m.Fatalf("%s died under its lease", d.Message.ID)
		}
	}
	s.dead = append(s.dead, got.Dead...)
}

// current calls fn with the messages of those receipts whose leases hold. Whether one does is unsure when it had run out
// before the clock went back: a step may have seen that or not. Then the model no longer knows the message's attempts.
func (s *modelSub) current(m *machine, rs []subscriptions.Receipt, fn func(msg *modelMessage, sure bool)) {
	if s.rules.Ordered {
		return
	}
	for _, r := range rs {
		if msg := s.messages[r.ID]; r.Epoch == s.epoch && !msg.gone && msg.number == r.Number && msg.until > m.now() {
			sure := msg.until > m.latest
			msg.unsure = msg.unsure || !sure
			fn(msg, sure)
		}
	}
}

func (s *modelSub) extended(m *machine, rs []subscriptions.Receipt, d time.Duration) {
	s.current(m, rs, func(msg *modelMessage, sure bool) {
		if sure {
			msg.until = m.now() + d.Milliseconds()
		} else {
			msg.until = 0
		}
	})
}

func (s *modelSub) ended(m *machine, rs []subscriptions.Receipt, released bool) {
	s.current(m, rs, func(msg *modelMessage, _ bool) {
		msg.until = 0
		if released {
			msg.released++
		}
	})
}

// inOrder checks the one thing that an answer by itself shows of the order: in it, the messages of a key come in order. The
// rest is checked by comparing stores, and by the cases of ordering.
func (s *modelSub) inOrder(m *machine, ds []subscriptions.Delivery) {
	m.Helper()
	last := map[uint64]subscriptions.MessageID{}
	for _, d := range ds {
		if d.Key != d.Message.KeyHash() || d.Key != 0 && d.Place().Compare(last[d.Key]) <= 0 {
			m.Fatalf("%s of key %q came after %s", d.Message.ID, d.Message.OrderingKey, last[d.Key])
		}
		if s.final[d.Place()] {
			m.Fatalf("%s was leased after its ack was confirmed", d.Message.ID)
		}
		last[d.Key] = d.Place()
		s.handed = append(s.handed, d.Receipt())
	}
}

// unknown is the end of a lease of which the model is not sure.
const unknown = -1

// confirmed checks what was told of acks: those of current leases took effect, others did not.
func (s *modelSub) confirmed(m *machine, rs []subscriptions.Receipt, missed subscriptions.Missed) {
	m.Helper()
	over := map[subscriptions.Receipt]bool{}
	for _, r := range slices.Concat(missed.Over, missed.Early) {
		over[r] = true
	}
	for _, r := range rs {
		if until, acked := s.acks[r]; acked {
			if until != unknown && (over[r] && until > m.latest || !over[r] && until <= m.now()) {
				m.Fatalf("the repeated ack of %s was answered with missed: %v", r.ID, over[r])
			}
			continue
		}
		if !s.rules.Ordered {
			msg := s.messages[r.ID]
			current := r.Epoch == s.epoch && !msg.gone && msg.number == r.Number
			lasts := msg.until > m.latest
			mayLast := msg.until > m.now() || msg.unsure
			if over[r] && current && lasts && !msg.unsure && m.latest-r.ID.Milli <= shortestRetention.Milliseconds() || !over[r] && !(current && mayLast) {
				m.Fatalf("the ack of %s was answered with missed: %v", r.ID, over[r])
			}
			if !over[r] {
				s.acks[r] = msg.until
				if msg.unsure {
					s.acks[r] = unknown
				}
			}
			msg.gone = msg.gone || !over[r]
		}
		s.final[r.ID] = s.final[r.ID] || !over[r] && r.Epoch == s.epoch && r.Number > s.back[r.ID] // a life that a redrive begins has higher numbers than its time
	}
}

func (s *modelSub) gone(rs []subscriptions.Receipt) {
	if s.rules.Ordered {
		return
	}
	for _, r := range rs {
		if r.Epoch == s.epoch {
			s.messages[r.ID].gone = true
		}
	}
}
