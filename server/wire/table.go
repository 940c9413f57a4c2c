package wire

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// message is what is known of a generated struct: how its fields are named, read and written.
type message struct {
	byName map[string]*field // both spellings of each name
	fields []*field          // in the order of the struct, which is that of the answers
}

// field is one field of a message.
type field struct {
	index    int
	name     string // in lowerCamelCase
	quoted   string // name with quotes and colon, as answers spell it
	oneof    uint   // bit of the group of which one field may be set, 0 for none
	optional bool   // left out of answers when empty
	codec
}

// codec reads and writes the values of one Go type. Both take addressable values.
type codec struct {
	decode func(*decoder, reflect.Value) error
	encode func([]byte, reflect.Value) ([]byte, error)
}

// maxFields is how many fields a message may have: decoding marks those it has seen in the bits of a word.
const maxFields = 64

var (
	messages sync.Map // reflect.Type -> *message, or the error that there is none
	building sync.Mutex
)

// messageOf finds, or builds, the table of a struct type.
func messageOf(t reflect.Type) (*message, error) {
	known, ok := messages.Load(t)
	if !ok {
		building.Lock()
		defer building.Unlock()
		b := builder{}
		m, err := b.message(t)
		if err != nil {
			known = err
		} else {
			known = m
		}
		messages.Store(t, known)
	}
	if err, failed := known.(error); failed {
		return nil, err
	}
	return known.(*message), nil
}

// builder builds the tables of a type and of what it holds. A table is entered before it is filled, so types may recur.
type builder map[reflect.Type]*message

func (b builder) message(t reflect.Type) (*message, error) {
	if m, ok := b[t]; ok {
		return m, nil
	}
	if t.Kind() != reflect.Struct || t.NumField() > maxFields {
		return nil, fmt.Errorf("wire: %v is not a message", t)
	}
	m := &message{byName: map[string]*field{}}
	b[t] = m
	oneofs := map[string]uint{}
	for i := range t.NumField() {
		f, err := b.field(t.Field(i))
		if err != nil {
			return nil, fmt.Errorf("wire: field %s of %v: %w", t.Field(i).Name, t, err)
		}
		f.index = i
		if group := t.Field(i).Tag.Get("oneof"); group != "" {
			if oneofs[group] == 0 {
				oneofs[group] = 1 << len(oneofs)
			}
			f.oneof = oneofs[group]
		}
		m.fields = append(m.fields, f)
		m.byName[f.name] = f
		m.byName[snakeCase(f.name)] = f
	}
	return m, nil
}

func (b builder) field(sf reflect.StructField) (*field, error) {
	name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
	if name == "" || !sf.IsExported() {
		return nil, fmt.Errorf("no name in JSON")
	}
	c, err := b.codec(sf.Type, sf.Tag.Get("enum"))
	return &field{
		name:     name,
		quoted:   `"` + name + `":`,
		optional: strings.Contains(options, "omitempty"),
		codec:    c,
	}, err
}

var (
	typeInt32   = reflect.TypeFor[Int32]()
	typeInt64   = reflect.TypeFor[Int64]()
	typeObject  = reflect.TypeFor[Object]()
	typeStrings = reflect.TypeFor[[]string]()
	typeMap     = reflect.TypeFor[map[string]string]()

	// texts are the types that are strings in JSON, with a form of their own; and how to say that it is missed.
	texts = map[reflect.Type]string{
		reflect.TypeFor[Bytes]():     expectBase64,
		reflect.TypeFor[Duration]():  expectDuration,
		reflect.TypeFor[Timestamp](): expectTimestamp,
		reflect.TypeFor[FieldMask](): expectString,
	}
)

// codec chooses how values of a type are read and written. enum lists the names of an enum by number.
func (b builder) codec(t reflect.Type, enum string) (codec, error) {
	if expect, ok := texts[t]; ok {
		return codec{textDecoder(expect), encodeText}, nil
	}
	switch {
	case t == typeInt32:
		return codec{intDecoder(32, expectInt32), encodeInt}, nil
	case t == typeInt64:
		return codec{intDecoder(64, expectInt64), encodeInt64}, nil
	case t == typeObject:
		return codec{decodeObject, encodeObject}, nil
	case t == typeStrings:
		return codec{decodeStrings, encodeStrings}, nil
	case t == typeMap:
		return codec{decodeMap, encodeMap}, nil
	case enum != "" && t.Kind() == reflect.String:
		return codec{enumDecoder(strings.Split(enum, ",")), encodeString}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return codec{decodeString, encodeString}, nil
	case reflect.Bool:
		return codec{decodeBool, encodeBool}, nil
	case reflect.Int:
		return codec{intDecoder(64, expectInt64), encodeInt}, nil
	case reflect.Float64:
		return codec{decodeDouble, encodeDouble}, nil
	case reflect.Pointer:
		return b.pointer(t)
	case reflect.Slice:
		return b.slice(t)
	case reflect.Struct:
		m, err := b.message(t)
		return codec{m.decode, m.encode}, err
	}
	return codec{}, fmt.Errorf("no form in JSON for %v", t)
}

func (b builder) pointer(t reflect.Type) (codec, error) {
	elem, err := b.codec(t.Elem(), "")
	return codec{
		decode: func(d *decoder, v reflect.Value) error {
			p := reflect.New(t.Elem())
			v.Set(p)
			return elem.decode(d, p.Elem())
		},
		encode: func(b []byte, v reflect.Value) ([]byte, error) {
			if v.IsNil() {
				return append(b, "null"...), nil
			}
			return elem.encode(b, v.Elem())
		},
	}, err
}

func (b builder) slice(t reflect.Type) (codec, error) {
	elem, err := b.codec(t.Elem(), "")
	return codec{decode: sliceDecoder(elem), encode: sliceEncoder(elem)}, err
}
