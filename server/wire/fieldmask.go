package wire

import (
	"fmt"
	"strings"
)

// FieldMask names the fields that an update sets: paths joined by commas. It is kept as it came, since it may also come as a
// query parameter, which nobody checks; Paths reads it.
type FieldMask string

// Paths are m's paths in lowerCamelCase. Requests may write them in snake_case.
func (m FieldMask) Paths() ([]string, error) {
	text := strings.TrimSpace(string(m))
	if text == "" {
		return nil, nil
	}
	paths := strings.Split(text, ",")
	for i, path := range paths {
		if !isFieldPath(path) {
			return nil, &Error{Problem: fmt.Sprintf("%q is not the path of a field", clip(path))}
		}
		paths[i] = lowerCamel(path)
	}
	return paths, nil
}

// UnmarshalText refuses what Paths would refuse.
func (m *FieldMask) UnmarshalText(text []byte) error {
	*m = FieldMask(text)
	_, err := m.Paths()
	return err
}

// AppendText writes m as it came.
func (m FieldMask) AppendText(b []byte) ([]byte, error) {
	return append(b, m...), nil
}

// isFieldPath tells whether path is made of identifiers and points.
func isFieldPath(path string) bool {
	for name := range strings.SplitSeq(path, ".") {
		if name == "" || '0' <= name[0] && name[0] <= '9' {
			return false
		}
		for _, c := range []byte(name) {
			letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
			if !letter && c != '_' && (c < '0' || '9' < c) {
				return false
			}
		}
	}
	return true
}

// lowerCamel drops each underscore and raises the letter behind it.
func lowerCamel(snake string) string {
	if !strings.Contains(snake, "_") {
		return snake
	}
	b := make([]byte, 0, len(snake))
	raise := false
	for _, c := range []byte(snake) {
		if c == '_' {
			raise = true
			continue
		}
		if raise && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		b, raise = append(b, c), false
	}
	return string(b)
}

// snakeCase lowers each capital and puts an underscore before it.
func snakeCase(camel string) string {
	b := make([]byte, 0, len(camel)+4)
	for _, c := range []byte(camel) {
		if 'A' <= c && c <= 'Z' {
			b, c = append(b, '_'), c+'a'-'A'
		}
		b = append(b, c)
	}
	return string(b)
}
