package wire

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// Duration is a span of time as in protobuf: seconds, and nanoseconds of the same sign. It reaches about 10,000 years either
// way, further than time.Duration, so that a value which is merely too large is told from one that is malformed.
type Duration struct {
	Seconds int64
	Nanos   int32
}

const (
	expectDuration = `expected a duration such as "1.5s"`

	maxDurationSeconds = 315_576_000_000
	secondsPerMax      = math.MaxInt64 / int64(time.Second)
)

// NewDuration is d for an answer.
func NewDuration(d time.Duration) *Duration {
	return &Duration{Seconds: int64(d / time.Second), Nanos: int32(d % time.Second)}
}

// Duration is d as Go counts time; what does not fit becomes the longest that does.
func (d Duration) Duration() time.Duration {
	switch {
	case d.Seconds >= secondsPerMax:
		return math.MaxInt64
	case d.Seconds <= -secondsPerMax:
		return math.MinInt64
	}
	return time.Duration(d.Seconds)*time.Second + time.Duration(d.Nanos)
}

// AppendText writes seconds with 0, 3, 6 or 9 digits behind the point.
func (d Duration) AppendText(b []byte) ([]byte, error) {
	seconds, nanos := d.Seconds, d.Nanos
	if seconds < 0 || nanos < 0 {
		b = append(b, '-')
		seconds, nanos = -seconds, -nanos
	}
	b = strconv.AppendInt(b, seconds, 10)
	return append(appendNanos(b, int(nanos)), 's'), nil
}

// MarshalText is AppendText for encoding/json.
func (d Duration) MarshalText() ([]byte, error) {
	return d.AppendText(nil)
}

// UnmarshalText reads seconds with at most 9 digits behind the point and an s at the end.
func (d *Duration) UnmarshalText(text []byte) error {
	s, ok := bytes.CutSuffix(text, []byte{'s'})
	sign := int64(1)
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	whole, s := leadingDigits(s)
	ok = ok && len(whole)+len(s) > 0 && (len(whole) < 2 || whole[0] != '0')
	var nanos int64
	if len(s) > 0 {
		var fraction []byte
		ok = ok && s[0] == '.'
		fraction, s = leadingDigits(s[1:])
		ok = ok && len(fraction) <= 9 && len(s) == 0
		if ok {
			padded := append(append([]byte("0"), fraction...), "000000000"[len(fraction):]...)
			nanos, _ = strconv.ParseInt(string(padded), 10, 32)
		}
	}
	seconds, err := strconv.ParseInt("0"+string(whole), 10, 64)
	if !ok || err != nil {
		return &Error{Problem: expectDuration}
	}
	if seconds > maxDurationSeconds {
		return &Error{Problem: "a duration is at most 315576000000s"}
	}
	*d = Duration{Seconds: sign * seconds, Nanos: int32(sign * nanos)}
	return nil
}

// appendNanos writes a fraction of a second with 0, 3, 6 or 9 digits, as protobuf does.
func appendNanos(b []byte, nanos int) []byte {
	if nanos == 0 {
		return b
	}
	digits, width := nanos, 9
	for digits%1000 == 0 {
		digits /= 1000
		width -= 3
	}
	text := strconv.Itoa(digits)
	b = append(b, '.')
	for range width - len(text) {
		b = append(b, '0')
	}
	return append(b, text...)
}
