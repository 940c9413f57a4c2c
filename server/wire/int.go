package wire

import (
	"bytes"
	"strconv"
)

// Int32 is a 32-bit integer that a request may also give as a string, or in any notation whose value is whole (1e1, 1.0).
type Int32 int32

// Int64 is a 64-bit integer: a string in answers, because JSON numbers lose digits in many languages; in requests as Int32.
type Int64 int64

// MarshalJSON writes i as a string.
func (i Int64) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 22), '"')
	b = strconv.AppendInt(b, int64(i), 10)
	return append(b, '"'), nil
}

// UnmarshalJSON reads i from a number or a string.
func (i *Int64) UnmarshalJSON(b []byte) error {
	n, ok := parseInt(b, 64)
	if !ok {
		return &Error{Problem: expectInt64}
	}
	*i = Int64(n)
	return nil
}

const (
	expectInt32  = "expected a 32-bit integer"
	expectInt64  = "expected a 64-bit integer"
	expectDouble = "expected a number"

	// No 64-bit integer has more digits; beyond it an exponent is not worth expanding.
	maxDigits = 20
)

// parseInt reads a JSON number, or a string that holds one, whose value is a whole number of so many bits.
func parseInt(raw []byte, bits int) (int64, bool) {
	if len(raw) > 1 && raw[0] == '"' {
		var err error
		if raw, err = unquote(nil, raw); err != nil {
			return 0, false
		}
	}
	digits, ok := wholeDigits(raw)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(string(digits), 10, bits)
	return n, err == nil
}

// parseDouble reads a JSON number, or a string that holds one. Protobuf's NaN and infinities are no setting of anything.
func parseDouble(raw []byte) (float64, bool) {
	if len(raw) > 1 && raw[0] == '"' {
		var err error
		if raw, err = unquote(nil, raw); err != nil {
			return 0, false
		}
	}
	if _, _, _, ok := splitNumber(bytes.TrimPrefix(raw, []byte{'-'})); !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return n, err == nil
}

// wholeDigits writes a JSON number without point and exponent, if its value allows that.
func wholeDigits(s []byte) ([]byte, bool) {
	negative := len(s) > 0 && s[0] == '-'
	whole, fraction, exponent, ok := splitNumber(bytes.TrimPrefix(s, []byte{'-'}))
	if !ok {
		return nil, false
	}
	whole = bytes.TrimLeft(whole, "0")
	fraction = bytes.TrimRight(fraction, "0")
	if len(whole)+len(fraction) == 0 {
		return []byte{'0'}, true
	}
	shift := int64(0)
	if len(exponent) > 0 {
		var err error
		if shift, err = strconv.ParseInt(string(exponent), 10, 32); err != nil {
			return nil, false
		}
	}
	if shift > 0 && int64(len(whole))+shift > maxDigits {
		return nil, false
	}
	digits := make([]byte, 0, maxDigits+2)
	if negative {
		digits = append(digits, '-')
	}
	digits = append(append(digits, whole...), fraction...)
	return shiftPoint(digits, shift-int64(len(fraction)))
}

// shiftPoint appends zeros, or takes them away; other digits cannot be taken away.
func shiftPoint(digits []byte, by int64) ([]byte, bool) {
	for ; by > 0; by-- {
		digits = append(digits, '0')
	}
	for ; by < 0; by++ {
		last := len(digits) - 1
		if last < 0 || digits[last] != '0' {
			return nil, false
		}
		digits = digits[:last]
	}
	return digits, true
}

// splitNumber takes an unsigned JSON number apart; the exponent keeps its sign.
func splitNumber(s []byte) (whole, fraction, exponent []byte, ok bool) {
	whole, s = leadingDigits(s)
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		return nil, nil, nil, false
	}
	if len(s) > 0 && s[0] == '.' {
		if fraction, s = leadingDigits(s[1:]); len(fraction) == 0 {
			return nil, nil, nil, false
		}
	}
	if len(s) > 0 && (s[0] == 'e' || s[0] == 'E') {
		exponent, s = s[1:], nil
		digits := exponent
		if len(digits) > 0 && (digits[0] == '+' || digits[0] == '-') {
			digits = digits[1:]
		}
		digits, rest := leadingDigits(digits)
		if len(digits) == 0 || len(rest) > 0 {
			return nil, nil, nil, false
		}
	}
	return whole, fraction, exponent, len(s) == 0
}

func leadingDigits(s []byte) (digits, rest []byte) {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return s[:n], s[n:]
}
