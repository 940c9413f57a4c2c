package subscriptions

import (
	"maps"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxAttemptsKept is how many failed attempts of a message are kept.
	MaxAttemptsKept = 5
	// MaxAttemptBytes bounds the texts of those of a message, of which the newest
	// has its place in any case.
	MaxAttemptBytes = 600
)

// Failure is why an attempt to deliver a message came to nothing. The zero value
// knows nothing of it.
type Failure struct {
	// Reason says it in words: at most MaxReason bytes of one line.
	Reason string
	// Status is what an endpoint answered, 0 if it did not, and Answer how the
	// body began: at most MaxAnswer bytes of one line.
	Status int
	Answer string
	// Took is how long the attempt took; 0 if that is not known.
	Took time.Duration
}

// Line is all of it in a line.
func (f Failure) Line() string {
	text := f.Reason
	if f.Took > 0 {
		text += " after " + f.Took.Round(time.Millisecond).String()
	}
	if f.Answer != "" {
		text += ": " + f.Answer
	}
	return text
}

// Attempt is an attempt that failed.
type Attempt struct {
	// Number tells which one it was; 0 when none was spent, as for the probe of a
	// circuit breaker.
	Number int
	// Time is when it ended, by the store's clock.
	Time time.Time
	Failure
}

// AddAttempt puts an attempt before older ones, as far as those still have room. A
// store's script does the same.
func AddAttempt(a Attempt, older []Attempt) []Attempt {
	kept := make([]Attempt, 0, MaxAttemptsKept)
	size := 0
	for _, a := range append([]Attempt{a}, older...) {
		a.Took = a.Took.Round(time.Millisecond)
		size += len(a.Reason) + len(a.Answer)
		if len(kept) > 0 && (len(kept) == MaxAttemptsKept || size > MaxAttemptBytes) {
			break
		}
		kept = append(kept, a)
	}
	return kept
}

// The attributes by which a dead letter tells of the attempts that failed.
const (
	// ReasonAttribute says why the last one did, in a line, or that the message's
	// time to live was over.
	ReasonAttribute = "postrider-dead-letter-reason"
	// AttemptsAttribute lists the last ones, newest first, in the form of logfmt with
	// a semicolon between two:
	//
	//	time=2026-01-01T00:05:00Z attempt=5 status=503 duration=12ms reason="…" answer="…"
	AttemptsAttribute = "postrider-dead-letter-attempts"
)

// withAttempts adds the attributes that tell of d's attempts, so that the letter
// can be published again as it is.
func (d Delivery) withAttempts() Delivery {
	if len(d.Failed) == 0 {
		return d
	}
	d.Message.Attributes = maps.Clone(d.Message.Attributes)
	if d.Message.Attributes == nil {
		d.Message.Attributes = map[string]string{}
	}
	value := ""
	for _, a := range d.Failed {
		text := a.logfmt()
		if len(value)+len("; ")+len(text) > MaxAttributeValue {
			break
		}
		if value != "" {
			value += "; "
		}
		value += text
	}
	d.Message.Attributes[ReasonAttribute] = d.Failed[0].Line()
	d.Message.Attributes[AttemptsAttribute] = value
	return d
}

func (a Attempt) logfmt() string {
	b := a.Time.UTC().AppendFormat([]byte("time="), time.RFC3339Nano)
	if a.Number > 0 {
		b = strconv.AppendInt(append(b, " attempt="...), int64(a.Number), 10)
	}
	if a.Status > 0 {
		b = strconv.AppendInt(append(b, " status="...), int64(a.Status), 10)
	}
	if a.Took > 0 {
		b = append(append(b, " duration="...), a.Took.String()...)
	}
	b = strconv.AppendQuote(append(b, " reason="...), a.Reason)
	if a.Answer != "" {
		b = strconv.AppendQuote(append(b, " answer="...), a.Answer)
	}
	return string(b)
}

// FailedAttempts are what a dead letter tells of its attempts, newest first; none
// when it is no dead letter, or somebody has changed what it says.
func (m Message) FailedAttempts() (all []Attempt) {
	rest := m.Attributes[AttemptsAttribute]
	for rest != "" && len(all) < MaxAttemptsKept {
		a, after, ok := parseAttempt(rest)
		if !ok {
			return nil
		}
		all, rest = append(all, a), after
	}
	return all
}

// parseAttempt reads what logfmt writes, up to the semicolon.
func parseAttempt(s string) (a Attempt, rest string, ok bool) {
	for {
		key, value, found := strings.Cut(s, "=")
		text, rest, whole := cutValue(value)
		switch {
		case !found, !whole, !a.set(key, text):
			return a, "", false
		case rest == "":
			return a, "", true
		case strings.HasPrefix(rest, "; "):
			return a, rest[2:], true
		case rest[0] != ' ':
			return a, "", false
		}
		s = rest[1:]
	}
}

// cutValue takes a value, quoted or not, off the beginning of a text.
func cutValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s+" ", " ;")
		return s[:end], s[end:], true
	}
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", false
	}
	value, err = strconv.Unquote(quoted)
	return value, s[len(quoted):], err == nil
}

func (a *Attempt) set(key, text string) bool {
	var err error
	switch key {
	case "time":
		a.Time, err = time.Parse(time.RFC3339Nano, text)
	case "attempt":
		a.Number, err = strconv.Atoi(text)
	case "status":
		a.Status, err = strconv.Atoi(text)
	case "duration":
		a.Took, err = time.ParseDuration(text)
	case "reason":
		a.Reason = Reason(text)
	case "answer":
		a.Answer = Answer(text)
	default:
		return false
	}
	return err == nil
}
