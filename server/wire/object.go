package wire

import "bytes"

// Object is a JSON object of any content, kept as it came.
type Object []byte

// MarshalJSON writes o as it came.
func (o Object) MarshalJSON() ([]byte, error) {
	if o == nil {
		return []byte("{}"), nil
	}
	return o, nil
}

// UnmarshalJSON keeps an object.
func (o *Object) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return &Error{Problem: expectObject}
	}
	*o = bytes.Clone(b)
	return nil
}

// Empty is a message without fields; what counts is whether it is there.
type Empty struct{}
