package filter_test

import (
	"strings"
	"testing"

	"postrider/subscriptions/filter"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]struct{ yes, no []string }{
		"stock":                          {[]string{"stock"}, []string{"", "Stock", "stock.", ".stock", "stock.usd", "stocks", "*"}},
		"stock.usd":                      {[]string{"stock.usd"}, []string{"stock", "usd", "stock.usd.nyse", "stock..usd", "stock.eur"}},
		"*":                              {[]string{"stock", "*", "#", "a-b c"}, []string{"", "a.b", ".", "a."}},
		"#":                              {[]string{"", "a", "a.b", "a.b.c.d", ".", "a..b"}, nil},
		"*.*":                            {[]string{"a.b", ".", "a.", ".b"}, []string{"", "a", "a.b.c"}},
		"stock.*":                        {[]string{"stock.usd", "stock."}, []string{"stock", "stock.usd.nyse", "bond.usd"}},
		"*.nyse":                         {[]string{"stock.nyse", ".nyse"}, []string{"nyse", "a.b.nyse", "stock.nyse2"}},
		"*.orange.*":                     {[]string{"quick.orange.rabbit"}, []string{"quick.orange", "orange.rabbit", "a.b.orange.c", "quick.orange.rabbit.x"}},
		"*.*.rabbit":                     {[]string{"lazy.orange.rabbit"}, []string{"orange.rabbit", "a.b.c.rabbit"}},
		"lazy.#":                         {[]string{"lazy", "lazy.", "lazy.orange", "lazy.orange.male.rabbit"}, []string{"", "lazyorange", "quick.lazy"}},
		"#.nyse":                         {[]string{"nyse", "a.nyse", "a.b.nyse", ".nyse", "nyse.nyse"}, []string{"", "nyse.a", "a.nyse.b", "anyse"}},
		"a.#.z":                          {[]string{"a.z", "a.b.z", "a.b.c.z", "a.z.z", "a..z"}, []string{"a", "z", "a.b", "b.z", "a.z.b"}},
		"#.b.#":                          {[]string{"b", "a.b", "b.c", "a.b.c", "a.a.b.c.c", "b.b"}, []string{"", "a", "a.c", "ab"}},
		"#.a.#.b.#":                      {[]string{"a.b", "x.a.y.b.z", "b.a.b", "a.a.b"}, []string{"b.a", "a", "b", "a.c"}},
		"#.a.*.b":                        {[]string{"a.x.b", "a.a.x.b", "a.x.a.x.b"}, []string{"a.b", "a.x.y.b", "a.x.b.b"}},
		"*.#":                            {[]string{"a", "a.b", ".", "a.b.c"}, []string{""}},
		"#.*":                            {[]string{"a", "a.b", ".", "a.b.c"}, []string{""}},
		"#.*.#.*":                        {[]string{"a.b", "a.b.c"}, []string{"", "a"}},
		"#.#":                            {[]string{"", "a", "a.b"}, nil},
		"a.#.#.b":                        {[]string{"a.b", "a.c.b"}, []string{"a"}},
		"a..b":                           {[]string{"a..b"}, []string{"a.b", "a.x.b"}},
		"a.":                             {[]string{"a."}, []string{"a", "a.b", "a.."}},
		"aktie.größe.*":                  {[]string{"aktie.größe.x"}, []string{"aktie.groesse.x"}},
		strings.Repeat("#.a.", 60) + "b": {[]string{strings.Repeat("a.", 60) + "b"}, []string{strings.Repeat("a.", 500) + "c", strings.Repeat("a.", 59) + "b"}},
	} {
		p, err := filter.ParsePattern(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		for _, value := range want.yes {
			if !p.Matches(value) {
				t.Errorf("%s does not match %q", pattern, value)
			}
		}
		for _, value := range want.no {
			if p.Matches(value) {
				t.Errorf("%s matches %q", pattern, value)
			}
		}
	}
}

func TestInvalidPattern(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"":                       "is empty; # matches every value",
		"stock*":                 `has "stock*" as word 1: * stands for one whole word and # for any number of them`,
		"a.**":                   `has "**" as word 2: * stands for one whole word and # for any number of them`,
		"a.b#.c":                 `has "b#" as word 2: * stands for one whole word and # for any number of them`,
		strings.Repeat("x", 256): "is 256 bytes long; at most 255 are allowed",
	} {
		if _, err := filter.ParsePattern(pattern); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", pattern, err, want)
		}
	}
}

func TestCheckWords(t *testing.T) {
	t.Parallel()
	const empty = ": single dots stand between words; use * for one word, # for any number of words"
	for pattern, want := range map[string]string{
		"orders.>":    `unexpected ">" at 8: use # for any number of words`,
		"größe.>.x":   `unexpected ">" at 7: use # for any number of words`,
		"orders..x":   "unexpected empty word at 8" + empty,
		".orders":     "unexpected empty word at 1" + empty,
		"orders.":     "unexpected empty word at 8" + empty,
		".":           "unexpected empty word at 1" + empty,
		"orders.#":    "",
		"*.a>b.größe": "",
	} {
		got := ""
		if err := filter.CheckWords(pattern); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", pattern, got, want)
		}
	}
}

// FuzzPattern compares with a matcher that tries everything.
func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{{"#.a.*", "x.a.b"}, {"*.#.a", "a"}, {"#", ""}, {"a..#", "a."}, {"#.b.#.b", "b.b.c.b"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, value string) {
		p, err := filter.ParsePattern(pattern)
		if err != nil || strings.Count(pattern, "#") > 4 || len(value) > 64 {
			return
		}
		var words []string
		if value != "" {
			words = strings.Split(value, ".")
		}
		if got, want := p.Matches(value), tries(strings.Split(pattern, "."), words); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, value, got, want)
		}
	})
}

func tries(pattern, words []string) bool {
	switch {
	case len(pattern) == 0:
		return len(words) == 0
	case pattern[0] == "#":
		return tries(pattern[1:], words) || len(words) > 0 && tries(pattern, words[1:])
	case len(words) == 0:
		return false
	}
	return (pattern[0] == "*" || pattern[0] == words[0]) && tries(pattern[1:], words[1:])
}
