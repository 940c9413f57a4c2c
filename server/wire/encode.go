package wire

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// encode writes an object, without the fields that are empty and may be absent.
func (m *message) encode(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '{')
	start := len(b)
	for _, f := range m.fields {
		value := v.Field(f.index)
		if f.optional && isEmpty(value) {
			continue
		}
		if len(b) > start {
			b = append(b, ',')
		}
		b = append(b, f.quoted...)
		var err error
		if b, err = f.encode(b, value); err != nil {
			return b, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return append(b, '}'), nil
}

// isEmpty tells what protobuf JSON leaves out. A message that is set is not empty, even without content.
func isEmpty(v reflect.Value) bool {
	if kind := v.Kind(); kind == reflect.Slice || kind == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}

func sliceEncoder(elem codec) func([]byte, reflect.Value) ([]byte, error) {
	return func(b []byte, v reflect.Value) ([]byte, error) {
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = elem.encode(b, v.Index(i)); err != nil {
				return b, fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return append(b, ']'), nil
	}
}

func encodeStrings(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '[')
	for i, text := range *v.Addr().Interface().(*[]string) {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = jsontext.AppendQuote(b, text); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// encodeMap sorts the keys, so that equal messages give equal answers.
func encodeMap(b []byte, v reflect.Value) ([]byte, error) {
	m := *v.Addr().Interface().(*map[string]string)
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = jsontext.AppendQuote(b, key); err != nil {
			return b, err
		}
		if b, err = jsontext.AppendQuote(append(b, ':'), m[key]); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

func encodeString(b []byte, v reflect.Value) ([]byte, error) {
	return jsontext.AppendQuote(b, v.String())
}

func encodeBool(b []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendBool(b, v.Bool()), nil
}

func encodeInt(b []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendInt(b, v.Int(), 10), nil
}

func encodeInt64(b []byte, v reflect.Value) ([]byte, error) {
	return append(strconv.AppendInt(append(b, '"'), v.Int(), 10), '"'), nil
}

func encodeDouble(b []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendFloat(b, v.Float(), 'g', -1, 64), nil
}

// encodeText writes the texts of this package, which need no escapes.
func encodeText(b []byte, v reflect.Value) ([]byte, error) {
	b, err := v.Addr().Interface().(encoding.TextAppender).AppendText(append(b, '"'))
	return append(b, '"'), err
}

func encodeObject(b []byte, v reflect.Value) ([]byte, error) {
	raw, err := v.Addr().Interface().(*Object).MarshalJSON()
	return append(b, raw...), err
}
