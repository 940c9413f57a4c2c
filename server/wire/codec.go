package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Codec is for runtime.SetJSONCodec: it reads and writes the generated messages.
type Codec struct {
	// Shortcut is asked first, if it is set. It reads a body into v as Unmarshal would, or returns false and leaves v alone.
	// Like Unmarshal it keeps nothing of the body.
	Shortcut func(body []byte, v any) bool
}

// Marshal is Marshal.
func (Codec) Marshal(v any) ([]byte, error) { return Marshal(v) }

// Unmarshal is Unmarshal.
func (c Codec) Unmarshal(data []byte, v any) error {
	if c.Shortcut != nil && c.Shortcut(data, v) {
		return nil
	}
	return Unmarshal(data, v)
}

// MarshalWrite writes v to w.
func (Codec) MarshalWrite(w io.Writer, v any) error {
	b, err := Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// UnmarshalRead reads all of r into v. Errors of r, such as *http.MaxBytesError, come back as they are.
func (c Codec) UnmarshalRead(r io.Reader, v any) error {
	buffer := takeBuffer()
	defer giveBack(buffer)
	if _, err := buffer.ReadFrom(r); err != nil {
		return err
	}
	return c.Unmarshal(buffer.Bytes(), v)
}

// keptBuffer is the size up to which a buffer is kept for the next body.
const keptBuffer = 1 << 20

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func takeBuffer() *bytes.Buffer {
	b := buffers.Get().(*bytes.Buffer)
	b.Reset()
	return b
}

func giveBack(b *bytes.Buffer) {
	if b.Cap() <= keptBuffer {
		buffers.Put(b)
	}
}

// Unmarshal reads a body into the zero message that v points to. What is wrong with the body is an *Error; any other error
// is that v is no message. Nothing of v refers to data afterwards.
func Unmarshal(data []byte, v any) error {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("wire: cannot read into a %T", v)
	}
	m, err := messageOf(target.Type().Elem())
	if err != nil {
		return err
	}
	d := decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(data))}
	if err := m.decode(&d, target.Elem()); err != nil {
		return bodyError(err)
	}
	switch _, err := d.ReadToken(); {
	case err == nil:
		return &Error{Problem: "more follows after the end of the object"}
	case !errors.Is(err, io.EOF):
		return syntaxError(err)
	}
	return nil
}

// bodyError names the one thing that is no syntax error: that there is nothing.
func bodyError(err error) error {
	if errors.Is(err, io.EOF) {
		return &Error{Problem: expectObject}
	}
	return err
}

// Encodes tells whether v is a message that Marshal can write: a generated struct, or a type made from one.
func Encodes(v any) bool {
	t := reflect.TypeOf(v)
	if t == nil {
		return false
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, err := messageOf(t)
	return err == nil
}

// Marshal writes a message, given by value or by pointer. Text that is not UTF-8 is an error.
func Marshal(v any) ([]byte, error) {
	return appendMessage(nil, v)
}

func appendMessage(b []byte, v any) ([]byte, error) {
	value := reflect.ValueOf(v)
	if value.Kind() == reflect.Struct {
		// Reading the fields by pointer spares an allocation each.
		p := reflect.New(value.Type())
		p.Elem().Set(value)
		value = p
	}
	if value.Kind() != reflect.Pointer || value.IsNil() {
		return nil, fmt.Errorf("wire: cannot write a %T", v)
	}
	m, err := messageOf(value.Type().Elem())
	if err != nil {
		return nil, err
	}
	if b, err = m.encode(b, value.Elem()); err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return b, nil
}

// WriteJSON answers a request with a message.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	return WriteBody(w, status, func(b []byte) ([]byte, error) { return appendMessage(b, v) })
}

// WriteBody answers a request with the JSON that body appends to what it is given.
func WriteBody(w http.ResponseWriter, status int, body func([]byte) ([]byte, error)) error {
	buffer := takeBuffer()
	defer giveBack(buffer)
	b, err := body(buffer.AvailableBuffer())
	if err != nil {
		return err
	}
	buffer.Write(b) // in place when it fitted; else the buffer has grown for the next answer
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(buffer.Len()))
	w.WriteHeader(status)
	_, err = w.Write(buffer.Bytes())
	return err
}
