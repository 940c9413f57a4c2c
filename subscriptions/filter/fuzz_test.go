package filter_test

import (
	"errors"
	"testing"
	"unicode/utf8"

	"postrider/subscriptions/filter"
)

// FuzzParse: what is refused says where; what is accepted can be put in parentheses and negated, and joined to others.
func FuzzParse(f *testing.F) {
	for expression := range valid {
		f.Add(expression, "name", "com")
	}
	for _, c := range invalid {
		f.Add(c.expression, "a", "b")
	}
	f.Fuzz(func(t *testing.T, expression, key, value string) {
		parsed, err := filter.Parse(expression)
		if err != nil {
			var syntax *filter.SyntaxError
			if errors.As(err, &syntax) && (syntax.At < 1 || syntax.At > utf8.RuneCountInString(expression)+1 || syntax.Found == "" || syntax.Advice == "") {
				t.Errorf("%q: %+v", expression, syntax)
			}
			return
		}
		if len(expression) > filter.MaxBytes-40 {
			return
		}
		for _, attributes := range []map[string]string{nil, {key: value}, {key: "", "name": value}} {
			got := parsed.Matches(attributes)
			for written, want := range map[string]bool{
				"(" + expression + ")":                       got,
				"NOT (" + expression + ")":                   !got,
				"-(" + expression + ")":                      !got,
				"(" + expression + ") AND attributes:zzz":    false,
				"-attributes:zzz AND (" + expression + ")":   got,
				"(" + expression + ") OR attributes:zzz":     got,
				"NOT attributes:zzz OR (" + expression + ")": true,
			} {
				if key == "zzz" {
					continue
				}
				other, err := filter.Parse(written)
				if err != nil {
					t.Fatalf("%q is accepted, %q is not: %v", expression, written, err)
				}
				if other.Matches(attributes) != want {
					t.Errorf("%q on %q: %v, but %q is not %v", expression, attributes, got, written, want)
				}
			}
		}
	})
}
