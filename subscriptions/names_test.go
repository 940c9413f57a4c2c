package subscriptions

import (
	"regexp"
	"strings"
	"testing"
)

func TestResourceIDs(t *testing.T) {
	for id, ok := range map[string]bool{
		"abc":                    true,
		"a-b_c.d~e+f%g":          true,
		"A" + s255:               false,
		"A" + s255[:254]:         true,
		"ab":                     false,
		"":                       false,
		"1abc":                   false,
		"goog":                   false,
		"google-things":          false,
		"goo":                    true,
		"a b":                    false,
		"a/b":                    false,
		"topic:publish":          false,
		"tópico":                 false,
		"abc\n":                  false,
		strings.Repeat("a", 256): false,
	} {
		err := TopicName{"project", id}.Validate()
		if (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
		if err != nil && CodeOf(err) != InvalidArgument {
			t.Errorf("%q: code %s", id, CodeOf(err))
		}
	}
}

var s255 = strings.Repeat("x", 255)

func TestProjectIDs(t *testing.T) {
	for id, ok := range map[string]bool{
		"demo": true, "a": true, "123456": true, "example.com:project": true, "my_proj-1": true,
		"": false, "-a": false, "a-": false, "a/b": false, "a b": false, "{x}": false, "é": false, "..": false,
	} {
		if err := ValidateProject(id); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// What is written by hand means what these say.
func FuzzIDs(f *testing.F) {
	resource := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._~+%-]{2,254}$`)
	project := regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._:-]{0,126}[A-Za-z0-9])?$`)
	for _, s := range []string{
		"", "a", "ab", "abc", "1bc", "a-c", "-ab", "ab-", "a b", "a.b_c~d+e%f-g", "example.com:project", "äbc", "abc\n", "abc\x00", "ab\xff", "a:b", ":", "9",
		strings.Repeat("a", 128), strings.Repeat("a", 129), strings.Repeat("a", 255), strings.Repeat("a", 256), "@bc", "[bc", "`bc", "{bc", "a/b", "a;b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if isResourceID(s) != resource.MatchString(s) || isProjectID(s) != project.MatchString(s) {
			t.Errorf("%q is a resource's id: %t, a project's: %t", s, isResourceID(s), isProjectID(s))
		}
	})
}

func FuzzParseTopicName(f *testing.F) {
	for _, s := range []string{"projects/p/topics/abc", "projects//topics/abc", "projects/p/topics/a/b", "projects/p/subscriptions/abc", "//pubsub/projects/p/topics/abc", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseTopicName("topic", s)
		if err == nil && n.String() != s {
			t.Errorf("%q became %q", s, n)
		}
		if err != nil && CodeOf(err) != InvalidArgument {
			t.Errorf("%q: %v", s, err)
		}
	})
}

func FuzzParseMessageID(f *testing.F) {
	for _, s := range []string{"1-2", "1735689600123-10001234", "01-2", "-1-2", "1--2", "1", "", "9223372036854775808-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParseMessageID(s); err == nil && id.String() != s {
			t.Errorf("%q became %q", s, id)
		}
	})
}

func TestMessageIDsRise(t *testing.T) {
	a, b := NewMessageID(10, 9, 9_999), NewMessageID(10, 10, 0)
	if a.Compare(b) >= 0 || b.N() != 10 || a.N() != 9 {
		t.Errorf("%v %v", a, b)
	}
}

func TestOwnershipMovesOnlyWhatItMust(t *testing.T) {
	three, two := []string{"a", "b", "c"}, []string{"a", "b"}
	count := map[string]int{}
	for range 3000 {
		uid := newUID()
		before, after := ownerOf(uid, three), ownerOf(uid, two)
		count[before]++
		if before != "c" && before != after {
			t.Fatalf("%s moved from %s to %s although that lives", uid, before, after)
		}
	}
	for server, n := range count {
		if n < 850 || n > 1150 { // five standard deviations are 130
			t.Errorf("%s owns %d of 3000", server, n)
		}
	}
	if ownerOf("x", nil) != "" {
		t.Error("no server, but an owner")
	}
}
