package wire

import (
	"bytes"
	"time"
)

// Timestamp is a point in time: RFC 3339 in JSON, in UTC in answers, with any offset in requests.
type Timestamp struct {
	time.Time
}

const (
	expectTimestamp = `expected a time such as "2025-01-31T12:00:00Z"`

	maxFraction = len(".999999999")
)

// The years that protobuf can tell, 1 to 9999.
var (
	minTimestamp = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	endTimestamp = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// NewTimestamp is t for an answer.
func NewTimestamp(t time.Time) *Timestamp {
	return &Timestamp{Time: t}
}

// AppendText writes t in UTC with 0, 3, 6 or 9 digits behind the point.
func (t Timestamp) AppendText(b []byte) ([]byte, error) {
	utc := t.UTC()
	b = utc.AppendFormat(b, "2006-01-02T15:04:05")
	return append(appendNanos(b, utc.Nanosecond()), 'Z'), nil
}

// MarshalText hides that of time.Time, which keeps the offset and writes as many digits as there are.
func (t Timestamp) MarshalText() ([]byte, error) {
	return t.AppendText(nil)
}

// MarshalJSON hides that of time.Time, as MarshalText does.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	b, err := t.AppendText([]byte{'"'})
	return append(b, '"'), err
}

// UnmarshalText reads a time of the years 1 to 9999 with at most 9 digits behind the point.
func (t *Timestamp) UnmarshalText(text []byte) error {
	parsed, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil || parsed.Before(minTimestamp) || !parsed.Before(endTimestamp) {
		return &Error{Problem: expectTimestamp}
	}
	point, zone := bytes.LastIndexByte(text, '.'), bytes.LastIndexAny(text, "Z-+")
	if point >= 0 && zone-point > maxFraction {
		return &Error{Problem: expectTimestamp}
	}
	t.Time = parsed
	return nil
}

// UnmarshalJSON hides that of time.Time, whose rules are not protobuf's.
func (t *Timestamp) UnmarshalJSON(b []byte) error {
	text, err := unquote(nil, b)
	if err != nil {
		return &Error{Problem: expectTimestamp}
	}
	return t.UnmarshalText(text)
}
