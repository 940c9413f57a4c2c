package wire

import (
	"bytes"
	"encoding/base64"
)

// Bytes is a payload: base64 in JSON, standard and padded in answers; requests may use the URL-safe alphabet and leave the
// padding out.
type Bytes []byte

const expectBase64 = "expected a string in base64"

// AppendText writes standard base64.
func (b Bytes) AppendText(dst []byte) ([]byte, error) {
	return base64.StdEncoding.AppendEncode(dst, b), nil
}

// MarshalText is AppendText for encoding/json.
func (b Bytes) MarshalText() ([]byte, error) {
	return b.AppendText(nil)
}

// UnmarshalText reads either alphabet of base64, padded or not.
func (b *Bytes) UnmarshalText(text []byte) error {
	encoding := base64.StdEncoding
	if bytes.ContainsAny(text, "-_") {
		encoding = base64.URLEncoding
	}
	if len(text)%4 != 0 {
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	// The length is that of unpadded input: the padded formula is too small for it.
	decoded := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	n, err := encoding.Decode(decoded, text)
	if err != nil {
		return &Error{Problem: expectBase64}
	}
	*b = decoded[:n]
	return nil
}
