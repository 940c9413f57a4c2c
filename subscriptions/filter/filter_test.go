package filter_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"postrider/subscriptions/filter"
)

// messages are what expressions are tried on, by a letter.
var messages = map[string]map[string]string{
	"a": nil,
	"b": {"name": "com"},
	"c": {"name": "net"},
	"d": {"name": "com", "lang": "en"},
	"e": {"lang": ""},
	"f": {"iana.org/language_tag": "en", "ce-type": "x.y"},
	"g": {"みんな": "é", "NOT": "1", `q"\`: "t\tb\x00", "7": "seven", "-x": "-"},
}

// matched lists the letters of the messages that a filter selects.
func matched(f *filter.Filter) string {
	var letters string
	for _, letter := range slices.Sorted(maps.Keys(messages)) {
		if f.Matches(messages[letter]) {
			letters += letter
		}
	}
	return letters
}

// TestValid has expressions and the messages that they select.
func TestValid(t *testing.T) {
	t.Parallel()
	for expression, want := range valid {
		f, err := filter.Parse(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
		} else if got := matched(f); got != want {
			t.Errorf("%s: selects %q, want %q", expression, got, want)
		}
	}
}

var valid = map[string]string{
	// Whether there is an attribute.
	`attributes:name`:                    "bcd",
	`attributes:lang`:                    "de",
	`attributes:none`:                    "",
	`attributes:"name"`:                  "bcd",
	`attributes:"iana.org/language_tag"`: "f",
	`attributes:ce-type`:                 "f",
	`attributes:7`:                       "g",
	`attributes:-x`:                      "g",
	`attributes:"-x"`:                    "g",
	`attributes:"NOT"`:                   "g",
	`attributes:"みんな"`:                   "g",
	`attributes:Name`:                    "",
	`attributes:attributes`:              "",
	`attributes:hasPrefix`:               "",
	`attributes:a_b-C9`:                  "",
	`attributes:and`:                     "",
	`attributes:not`:                     "",
	// Space.
	` attributes:name `:                      "bcd",
	`attributes : name`:                      "bcd",
	"attributes\t:\r\n\"name\"":              "bcd",
	`attributes . name = "com"`:              "bd",
	`attributes.name="com"`:                  "bd",
	`attributes.name   =   "com"`:            "bd",
	`attributes.name!="com"`:                 "acefg",
	`hasPrefix ( attributes.name , "c" )`:    "bd",
	`hasPrefix(attributes.name,"c")`:         "bd",
	"attributes:name\nAND\nattributes:lang":  "d",
	`NOT attributes:name`:                    "aefg",
	`NOT(attributes:name)`:                   "aefg",
	`NOT	attributes:name`:                    "aefg",
	`(attributes:name)AND(attributes:lang)`:  "d",
	`attributes:"name"AND attributes:"lang"`: "d",
	// Equality.
	`attributes.name = "com"`:                    "bd",
	`attributes.name = "net"`:                    "c",
	`attributes.name = "COM"`:                    "",
	`attributes.name = ""`:                       "",
	`attributes.lang = ""`:                       "e",
	`attributes.lang = "en"`:                     "d",
	`attributes."iana.org/language_tag" = "en"`:  "f",
	`attributes."name" = "com"`:                  "bd",
	`attributes.ce-type = "x.y"`:                 "f",
	`attributes.7 = "seven"`:                     "g",
	`attributes.-x = "-"`:                        "g",
	`attributes.none = "AND"`:                    "",
	`attributes.name = "attributes:name"`:        "",
	`attributes.name = "com OR attributes:lang"`: "",
	`attributes.name = "(com)"`:                  "",
	// Inequality: true without the attribute.
	`attributes.name != "com"`:                   "acefg",
	`attributes.name != ""`:                      "abcdefg",
	`attributes.lang != ""`:                      "abcdfg",
	`attributes.lang != "en"`:                    "abcefg",
	`attributes."iana.org/language_tag" != "en"`: "abcdeg",
	`attributes.none != "x"`:                     "abcdefg",
	// Beginnings.
	`hasPrefix(attributes.name, "co")`:                   "bd",
	`hasPrefix(attributes.name, "com")`:                  "bd",
	`hasPrefix(attributes.name, "com.")`:                 "",
	`hasPrefix(attributes.name, "C")`:                    "",
	`hasPrefix(attributes.name, "")`:                     "bcd",
	`hasPrefix(attributes.lang, "")`:                     "de",
	`hasPrefix(attributes.lang, "e")`:                    "d",
	`hasPrefix(attributes."iana.org/language_tag", "e")`: "f",
	`hasPrefix(attributes.ce-type, "x.")`:                "f",
	`hasPrefix(attributes.none, "")`:                     "",
	`NOT hasPrefix(attributes.name, "co")`:               "acefg",
	`-hasPrefix(attributes.name, "co")`:                  "acefg",
	// NOT and -.
	`-attributes:name`:                            "aefg",
	`- attributes:name`:                           "aefg",
	`NOT NOT attributes:name`:                     "bcd",
	`--attributes:name`:                           "bcd",
	`NOT -attributes:name`:                        "bcd",
	`NOT attributes.name = "com"`:                 "acefg",
	`NOT attributes.name != "com"`:                "bd",
	`-attributes.name = "com"`:                    "acefg",
	`NOT (attributes:name OR attributes:lang)`:    "afg",
	`-(attributes:name AND attributes:lang)`:      "abcefg",
	`NOT attributes:name AND NOT attributes:lang`: "afg",
	`NOT attributes:name OR attributes:lang`:      "adefg",
	`attributes:name AND NOT attributes:lang`:     "bc",
	`attributes:name AND -attributes:lang`:        "bc",
	// AND, OR and parentheses.
	`attributes:name AND attributes:lang`:                        "d",
	`attributes:name OR attributes:lang`:                         "bcde",
	`attributes:name AND attributes:name AND attributes:lang`:    "d",
	`attributes:lang OR attributes.name = "net" OR attributes:7`: "cdeg",
	`attributes:none OR attributes:none OR attributes:name`:      "bcd",
	`attributes:name AND attributes:none AND attributes:lang`:    "",
	`(attributes:name)`:                   "bcd",
	`((attributes:name))`:                 "bcd",
	`( ( ( attributes.name = "com" ) ) )`: "bd",
	`attributes:name AND (attributes.lang = "en" OR attributes.name = "net")`:                                "cd",
	`(attributes.lang = "en" OR attributes.name = "net") AND attributes:name`:                                "cd",
	`(attributes:name AND attributes:lang) OR attributes:7`:                                                  "dg",
	`attributes:7 OR (attributes:name AND attributes:lang)`:                                                  "dg",
	`(attributes:name OR attributes:lang) AND NOT (attributes:name AND attributes:lang)`:                     "bce",
	`(attributes:name AND attributes:lang) OR (attributes:7 AND attributes:"NOT")`:                           "dg",
	`(attributes:name OR attributes:7) OR attributes:lang`:                                                   "bcdeg",
	`attributes:name AND (attributes:lang AND attributes.name = "com")`:                                      "d",
	`NOT (NOT (attributes:name))`:                                                                            "bcd",
	`attributes:"iana.org/language_tag" OR attributes.name = "net"`:                                          "cf",
	`attributes:"iana.org/language_tag" AND (attributes.name = "net" OR hasPrefix(attributes.ce-type, "x"))`: "f",
	`attributes.name != "com" AND attributes.name != "net"`:                                                  "aefg",
	`attributes.name = "com" OR attributes.name = "net" OR attributes.name = "org"`:                          "bcd",
	// Escapes.
	`attributes:"\u307f\u3093\u306A"`:            "g",
	`attributes:"\u307F\u3093な"`:                 "g",
	`attributes:"\U0000307f\u3093\u306a"`:        "g",
	`attributes:"\xe3\x81\xbf\u3093\u306a"`:      "g",
	`attributes:"\343\201\277\u3093\u306a"`:      "g",
	`attributes:"n\x61me"`:                       "bcd",
	`attributes:"n\141me"`:                       "bcd",
	`attributes:"\u006eame"`:                     "bcd",
	`attributes:"q\"\\"`:                         "g",
	`attributes."みんな" = "é"`:                     "g",
	`attributes."みんな" = "\u00e9"`:                "g",
	`attributes."みんな" = "\u00E9"`:                "g",
	`attributes."みんな" = "\xc3\xa9"`:              "g",
	`attributes."みんな" = "\303\251"`:              "g",
	`attributes."みんな" = "e\u0301"`:               "",
	`attributes."q\"\\" = "t\tb\0"`:              "g",
	`attributes."q\"\\" = "\x74\tb\000"`:         "g",
	`attributes."q\x22\\" = "\164\x09b\x00"`:     "g",
	`attributes.name = "\a\b\f\n\r\t\v\\\"\'\?"`: "",
	`attributes.name = "it's"`:                   "",
	`attributes.name = "\1"`:                     "",
	`attributes.name = "\18"`:                    "",
	`attributes.name = "\U0001F600"`:             "",
	`hasPrefix(attributes.name, "\x63")`:         "bd",
	`hasPrefix(attributes."みんな", "\u00e9")`:      "g",
	// As long as it may be.
	`attributes.name = "` + strings.Repeat("x", 236) + `"`:                  "",
	strings.Repeat("(", 120) + `attributes:name` + strings.Repeat(")", 120): "bcd",
	strings.Repeat("-", 240) + `attributes:name`:                            "bcd",
	strings.Repeat("-", 241) + `attributes:name`:                            "aefg",
}

func TestMatchingAllocatesNothing(t *testing.T) {
	f, err := filter.Parse(`attributes:name AND (hasPrefix(attributes.name, "co") OR NOT attributes.lang != "en") AND -attributes:"x"`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := filter.ParsePattern("#.stock.*.#.nyse")
	if err != nil {
		t.Fatal(err)
	}
	m := messages["d"]
	if n := testing.AllocsPerRun(1000, func() {
		if !f.Matches(m) || !p.Matches("us.stock.ibm.a.b.nyse") {
			t.Fatal("does not match")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMatches(b *testing.B) {
	f, err := filter.Parse(`attributes.name = "com" AND (attributes:x OR hasPrefix(attributes.lang, "e"))`)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f.Matches(messages["d"])
	}
}
