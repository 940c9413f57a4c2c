package wire

import (
	"encoding"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	expectObject = "expected an object"
	expectArray  = "expected an array"
	expectString = "expected a string"
	expectBool   = "expected true or false"
)

// decoder reads one body.
type decoder struct {
	*jsontext.Decoder
	scratch []byte // for strings with escapes
}

func unquote(dst, raw []byte) ([]byte, error) {
	return jsontext.AppendUnquote(dst, raw)
}

// read takes the next value or name, which must be of the kind; the bytes hold until the next read.
func (d *decoder) read(kind jsontext.Kind, expect string) (jsontext.Value, error) {
	if got := d.PeekKind(); got != kind && got != jsontext.KindInvalid {
		return nil, &Error{Problem: expect}
	}
	raw, err := d.ReadValue()
	return raw, syntaxError(err)
}

// text takes the next value or name, a string, without its quotes; the bytes hold until the next read.
func (d *decoder) text(expect string) ([]byte, error) {
	raw, err := d.read(jsontext.KindString, expect)
	if err != nil {
		return nil, err
	}
	if inner := raw[1 : len(raw)-1]; !strings.Contains(string(inner), `\`) {
		return inner, nil
	}
	d.scratch, err = unquote(d.scratch[:0], raw)
	return d.scratch, err
}

// open takes the start of an object or array.
func (d *decoder) open(kind jsontext.Kind, expect string) error {
	if got := d.PeekKind(); got != kind && got != jsontext.KindInvalid {
		return &Error{Problem: expect}
	}
	_, err := d.ReadToken()
	return syntaxError(err)
}

// more tells whether the object or array goes on; if not, its end is taken.
func (d *decoder) more() (bool, error) {
	kind := d.PeekKind()
	if kind != jsontext.KindEndObject && kind != jsontext.KindEndArray {
		return true, nil
	}
	_, err := d.ReadToken()
	return false, syntaxError(err)
}

// syntaxError puts what jsontext finds wrong into our words; errors of reading stay as they are.
func syntaxError(err error) error {
	if err == nil {
		return nil
	}
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &Error{Problem: "a name occurs twice"}
	case errors.As(err, &syntactic):
		problem := strings.TrimPrefix(syntactic.Err.Error(), "jsontext: ")
		return &Error{Problem: problem + " at byte " + strconv.FormatInt(syntactic.ByteOffset, 10)}
	}
	return err
}

// within puts an outer name before the path of an error of ours.
func within(name string, err error) error {
	var ours *Error
	if errors.As(err, &ours) {
		return ours.within(name)
	}
	return err
}

// decode reads an object by the names of its fields.
func (m *message) decode(d *decoder, v reflect.Value) error {
	if err := d.open(jsontext.KindBeginObject, expectObject); err != nil {
		return err
	}
	var seen uint64
	var oneofs uint
	for {
		more, err := d.more()
		if !more || err != nil {
			return err
		}
		name, err := d.text(expectString)
		if err != nil {
			return err
		}
		f, ok := m.byName[string(name)]
		if !ok {
			return &Error{Path: clip(string(name)), Problem: "unknown field"}
		}
		bit := uint64(1) << f.index
		if seen&bit != 0 {
			return &Error{Path: f.name, Problem: "the field occurs twice"}
		}
		seen |= bit
		if err := d.field(f, &oneofs, v.Field(f.index)); err != nil {
			return within(f.name, err)
		}
	}
}

// field reads the value of a field. A null leaves the field as if it were absent.
func (d *decoder) field(f *field, oneofs *uint, v reflect.Value) error {
	if d.PeekKind() == jsontext.KindNull {
		_, err := d.ReadToken()
		return syntaxError(err)
	}
	if *oneofs&f.oneof != 0 {
		return &Error{Problem: "excludes a field that is set as well"}
	}
	*oneofs |= f.oneof
	return f.decode(d, v)
}

func sliceDecoder(elem codec) func(*decoder, reflect.Value) error {
	return func(d *decoder, v reflect.Value) error {
		if err := d.open(jsontext.KindBeginArray, expectArray); err != nil {
			return err
		}
		for n := 0; ; n++ {
			more, err := d.more()
			if !more || err != nil {
				return err
			}
			v.Grow(1)
			v.SetLen(n + 1)
			if err := elem.decode(d, v.Index(n)); err != nil {
				return within("["+strconv.Itoa(n)+"]", err)
			}
		}
	}
}

func decodeStrings(d *decoder, v reflect.Value) error {
	if err := d.open(jsontext.KindBeginArray, expectArray); err != nil {
		return err
	}
	list := v.Addr().Interface().(*[]string)
	for {
		more, err := d.more()
		if !more || err != nil {
			return err
		}
		text, err := d.text(expectString)
		if err != nil {
			return within("["+strconv.Itoa(len(*list))+"]", err)
		}
		*list = append(*list, string(text))
	}
}

// decodeMap reads free keys, which are nobody's field names and so never renamed.
func decodeMap(d *decoder, v reflect.Value) error {
	if err := d.open(jsontext.KindBeginObject, expectObject); err != nil {
		return err
	}
	m := map[string]string{}
	v.Set(reflect.ValueOf(m))
	for {
		more, err := d.more()
		if !more || err != nil {
			return err
		}
		text, err := d.text(expectString)
		if err != nil {
			return err
		}
		key := string(text)
		if text, err = d.text(expectString); err != nil {
			return within("["+strconv.Quote(clip(key))+"]", err)
		}
		m[key] = string(text)
	}
}

func decodeString(d *decoder, v reflect.Value) error {
	text, err := d.text(expectString)
	if err == nil {
		v.SetString(string(text))
	}
	return err
}

func decodeBool(d *decoder, v reflect.Value) error {
	kind := d.PeekKind()
	if kind != jsontext.KindTrue && kind != jsontext.KindFalse && kind != jsontext.KindInvalid {
		return &Error{Problem: expectBool}
	}
	_, err := d.ReadToken()
	v.SetBool(kind == jsontext.KindTrue)
	return syntaxError(err)
}

// integer reads a number, bare or in quotes.
func (d *decoder) integer(bits int, expect string) (int64, error) {
	kind := d.PeekKind()
	if kind != jsontext.KindNumber {
		kind = jsontext.KindString
	}
	raw, err := d.read(kind, expect)
	if err != nil {
		return 0, err
	}
	n, ok := parseInt(raw, bits)
	if !ok {
		return 0, &Error{Problem: expect}
	}
	return n, nil
}

func intDecoder(bits int, expect string) func(*decoder, reflect.Value) error {
	return func(d *decoder, v reflect.Value) error {
		n, err := d.integer(bits, expect)
		if err == nil {
			v.SetInt(n)
		}
		return err
	}
}

// decodeDouble reads a finite number, which may also be given as a string.
func decodeDouble(d *decoder, v reflect.Value) error {
	kind := d.PeekKind()
	if kind != jsontext.KindNumber {
		kind = jsontext.KindString
	}
	raw, err := d.read(kind, expectDouble)
	if err != nil {
		return err
	}
	n, ok := parseDouble(raw)
	if !ok {
		return &Error{Problem: expectDouble}
	}
	v.SetFloat(n)
	return nil
}

func textDecoder(expect string) func(*decoder, reflect.Value) error {
	return func(d *decoder, v reflect.Value) error {
		text, err := d.text(expect)
		if err != nil {
			return err
		}
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text)
	}
}

func decodeObject(d *decoder, v reflect.Value) error {
	raw, err := d.read(jsontext.KindBeginObject, expectObject)
	if err != nil {
		return err
	}
	return v.Addr().Interface().(*Object).UnmarshalJSON(raw)
}

// enumDecoder reads one of the names, or its number.
func enumDecoder(names []string) func(*decoder, reflect.Value) error {
	expect := "expected one of " + strings.Join(names, ", ")
	return func(d *decoder, v reflect.Value) error {
		if d.PeekKind() == jsontext.KindNumber {
			n, err := d.integer(32, expect)
			if err != nil {
				return err
			}
			if n < 0 || n >= int64(len(names)) {
				return &Error{Problem: expect}
			}
			v.SetString(names[n])
			return nil
		}
		text, err := d.text(expect)
		if err != nil {
			return err
		}
		for _, name := range names {
			if name == string(text) {
				v.SetString(name)
				return nil
			}
		}
		return &Error{Problem: expect}
	}
}
