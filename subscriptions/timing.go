package subscriptions

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// The attributes by which a publisher says when a message may be delivered.
// Receivers get them as they were.
const (
	// AttributeTTL is how long the message may be delivered, in seconds: "90",
	// "90s" or "1.5s". It counts from the publish or, with AttributeDeliverAt,
	// from when the message is due.
	AttributeTTL = reservedAttributes + "ttl"
	// AttributeDeliverAt is when the message is due: a time as in RFC 3339, or
	// seconds from the publish on, written as those of AttributeTTL. A time that
	// has passed is now.
	AttributeDeliverAt = reservedAttributes + "deliver-at"
)

const (
	// MaxTTL bounds AttributeTTL. No subscription keeps a message for longer.
	MaxTTL = MaxRetention
	// MaxDelay is how far ahead a message can be due. That is looked at by the
	// server's clock, when it is due by the store's.
	MaxDelay = 31 * 24 * time.Hour
)

// Timing is when a message may be delivered.
type Timing struct {
	// TTL is how long, from the publish or from when it is due; 0 is for ever.
	TTL time.Duration
	// Delay is how long after the publish the message is due.
	Delay time.Duration
	// DeliverAt, if set, is when the message is due, in place of Delay.
	DeliverAt time.Time
}

// IsDelayed tells whether the message asks to be due at another time than now. It
// gets an id of NewDelayedID, also if the time turns out to have passed.
func (t Timing) IsDelayed() bool { return t.Delay > 0 || !t.DeliverAt.IsZero() }

// timed reads the timing of messages off their attributes. The slice that it gets
// stays as it is. INVALID_ARGUMENT.
func timed(msgs []Message, now time.Time) ([]Message, error) {
	copied := false
	for i, m := range msgs {
		t, err := timingOf(i, m, now)
		if err != nil {
			return nil, err
		}
		if t == (Timing{}) {
			continue
		}
		if !copied {
			msgs, copied = append([]Message(nil), msgs...), true
		}
		msgs[i].Timing = t
	}
	return msgs, nil
}

func timingOf(i int, m Message, now time.Time) (t Timing, err error) {
	if len(m.Attributes) == 0 {
		return t, nil
	}
	if text, ok := m.Attributes[AttributeTTL]; ok {
		if t.TTL, ok = parseSeconds(text); !ok || t.TTL <= 0 || t.TTL > MaxTTL {
			return t, Errorf(InvalidArgument, "messages[%d].attributes[%q]: %q is not a time to live: it must be seconds such as 90, 90s or 1.5s, more than 0 and at most %.0f (31 days)",
				i, AttributeTTL, clip(text, 64), MaxTTL.Seconds())
		}
	}
	text, ok := m.Attributes[AttributeDeliverAt]
	if !ok {
		return t, nil
	}
	delay, isSeconds := parseSeconds(text)
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case !isSeconds && err != nil:
		return t, Errorf(InvalidArgument, "messages[%d].attributes[%q]: %q is not a time: it must be one such as 2030-01-31T12:00:00Z (RFC 3339), or seconds from now such as 90, 90s or 1.5s",
			i, AttributeDeliverAt, clip(text, 64))
	case isSeconds && delay > MaxDelay, !isSeconds && at.Sub(now) > MaxDelay:
		return t, Errorf(InvalidArgument, "messages[%d].attributes[%q]: %s is too far ahead: at most %.0f seconds (31 days) are allowed",
			i, AttributeDeliverAt, clip(text, 64), MaxDelay.Seconds())
	case m.OrderingKey != "":
		return t, Errorf(InvalidArgument, "messages[%d].attributes[%q]: a message with an orderingKey cannot be delayed, since later messages of its key would overtake it",
			i, AttributeDeliverAt)
	}
	if isSeconds {
		t.Delay = delay
	} else {
		t.DeliverAt = at
	}
	return t, nil
}

// parseSeconds reads seconds, with or without the unit, and with a fraction or
// not. What is too long for a Duration reads as the longest.
func parseSeconds(text string) (time.Duration, bool) {
	digits, fraction, dotted := strings.Cut(strings.TrimSuffix(text, "s"), ".")
	if !isDigits(digits) || dotted && (!isDigits(fraction) || len(fraction) > 9) {
		return 0, false
	}
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || seconds >= math.MaxInt64/int64(time.Second) {
		return math.MaxInt64, true
	}
	nanos, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64) // nine digits fit
	return time.Duration(seconds)*time.Second + time.Duration(nanos), true
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
