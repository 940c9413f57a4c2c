package conformance

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// generator writes bodies that follow a message's descriptor, but for a few faults: with more, all would be refused, and for
// the same first reasons.
type generator struct {
	t      *rapid.T
	faults int // how many may still be made
}

func newGenerator(t *rapid.T) *generator {
	return &generator{t: t, faults: rapid.SampledFrom([]int{0, 1, 1, 3}).Draw(t, "faults")}
}

// fault tells, about once in n, to do something that may be wrong.
func (g *generator) fault(n int) bool {
	if g.faults == 0 || rapid.IntRange(0, n-1).Draw(g.t, "fault") != n/2 {
		return false
	}
	g.faults--
	return true
}

func (g *generator) pick(of ...string) string {
	return rapid.SampledFrom(of).Draw(g.t, "pick")
}

func (g *generator) space() string {
	if g.fault(30) {
		return g.pick("\f", "\u00a0", "x", ",")
	}
	return g.pick("", "", "", " ", "\n", "\t\r ")
}

// message writes an object with some of the fields, in either spelling.
func (g *generator) message(d protoreflect.MessageDescriptor) string {
	switch d.FullName() {
	case "google.protobuf.Duration":
		return g.duration()
	case "google.protobuf.Timestamp":
		return g.timestamp()
	case "google.protobuf.FieldMask":
		return g.mask()
	}
	var members []string
	seen := map[protoreflect.FieldNumber]bool{}
	for range rapid.IntRange(0, 5).Draw(g.t, "fields") {
		if g.fault(40) {
			members = append(members, g.pick(`"unknown":1`, `"":0`, `"Name":"a"`, `"@type":"a"`))
		}
		if d.Fields().Len() == 0 {
			break
		}
		f := d.Fields().Get(rapid.IntRange(0, d.Fields().Len()-1).Draw(g.t, "field"))
		if seen[f.Number()] && !g.fault(8) {
			continue
		}
		seen[f.Number()] = true
		members = append(members, g.name(f)+g.space()+":"+g.space()+g.value(f))
	}
	if g.fault(60) {
		return g.pick("null", "[]", `""`, "{", "{,}", "0")
	}
	return "{" + g.space() + strings.Join(members, g.space()+",") + g.space() + "}"
}

func (g *generator) name(f protoreflect.FieldDescriptor) string {
	name := f.JSONName()
	switch rapid.IntRange(0, 9).Draw(g.t, "spelling") {
	case 0, 1, 2, 3:
		name = string(f.Name())
	case 4:
		name = fmt.Sprintf(`\u%04x%s`, name[0], name[1:])
	case 5:
		if g.fault(5) {
			name = strings.ToUpper(name[:1]) + name[1:]
		}
	}
	return `"` + name + `"`
}

func (g *generator) value(f protoreflect.FieldDescriptor) string {
	if g.fault(15) {
		return g.pick("{}", "[]", "true", `"x"`, "1", "[null]", `{"a":null}`)
	}
	if rapid.IntRange(0, 15).Draw(g.t, "null") == 7 {
		return "null"
	}
	switch {
	case f.IsMap():
		var members []string
		for range rapid.IntRange(0, 3).Draw(g.t, "entries") {
			members = append(members, g.text()+":"+g.text())
		}
		return "{" + strings.Join(members, ",") + "}"
	case f.IsList():
		var elements []string
		for range rapid.IntRange(0, 3).Draw(g.t, "elements") {
			elements = append(elements, g.single(f))
		}
		return "[" + strings.Join(elements, ",") + "]"
	}
	return g.single(f)
}

func (g *generator) single(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return g.message(f.Message())
	case protoreflect.EnumKind:
		if g.fault(10) {
			return g.pick(`"NONE"`, `"active"`, "99", "-1", g.integer())
		}
		v := f.Enum().Values().Get(rapid.IntRange(0, f.Enum().Values().Len()-1).Draw(g.t, "enum"))
		return g.pick(`"`+string(v.Name())+`"`, fmt.Sprint(v.Number()), fmt.Sprint(v.Number(), "e0"))
	case protoreflect.BoolKind:
		return g.pick("true", "false")
	case protoreflect.BytesKind:
		return g.base64()
	case protoreflect.StringKind:
		return g.text()
	}
	quote := g.pick("", `"`)
	return quote + g.integer() + quote
}

// pieces glues random choices of the pieces together.
func (g *generator) pieces(most int, of ...string) string {
	var b strings.Builder
	for range rapid.IntRange(0, most).Draw(g.t, "pieces") {
		b.WriteString(g.pick(of...))
	}
	return b.String()
}

func (g *generator) integer() string {
	if g.fault(10) {
		return g.pick("", "-") + g.pieces(12, "0", "1", "9") + g.pick("", ".", ".0", ".50") + g.pieces(3, "0", "5") +
			g.pick("", "e", "E", "e+", "e-") + g.pieces(3, "0", "1", "2")
	}
	return g.pick("0", "1", "-1", "10", "600", "2147483647", "-2147483648", "-0", "1e1", "1.0", "1.5e1", "20E-1", "0.5e+1")
}

func (g *generator) text() string {
	if g.fault(20) {
		return g.pick(`"\ud83d"`, "\"\xff\"", `"\q"`, "\"\n\"", `"\u00"`, `"`, `'a'`, `"\ud83d\u0061"`)
	}
	return `"` + g.pieces(6, "a", "B", "_", "-", "/", "é", "😀", "<", "\u2028", "\ufffd", `\"`, `\\`, `\/`, `\n`, `\u0000`,
		`\u00e9`, `\ud83d\ude00`, `\uFFFD`, "\x7f", " ") + `"`
}

func (g *generator) base64() string {
	if g.fault(10) {
		return `"` + g.pieces(9, "A", "z", "0", "+", "/", "-", "_", `\u0041`) + g.pick("", "=", "==", `\n`, " ") + `"`
	}
	data := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(g.t, "data")
	encoding := rapid.SampledFrom([]*base64.Encoding{
		base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding,
	}).Draw(g.t, "encoding")
	return `"` + encoding.EncodeToString(data) + `"`
}

func (g *generator) duration() string {
	if g.fault(6) {
		return `"` + g.pick("", "-", "+") + g.pick("", "0", "1", "600", "315576000001", "007") +
			g.pick("", ".") + g.pieces(11, "0", "1", "5") + g.pick("s", "", "m", "S") + `"`
	}
	return `"` + g.pick("", "-", "+") + g.pick("0", "1", "600", "315576000000") + "." + g.pieces(9, "0", "1", "5") + `s"`
}

func (g *generator) timestamp() string {
	if g.fault(4) {
		return `"` + g.pick("2025", "0000", "10000", "70") + "-" + g.pick("12", "02", "13", "1") +
			"-" + g.pick("01", "29", "31", "00") + g.pick("T", "t", " ") + g.pick("00", "24", "7") +
			":" + g.pick("00", "59", "60") + ":" + g.pick("00", "59", "60") + g.pick("", ".", ",") +
			g.pieces(11, "0", "1", "9") + g.pick("Z", "+24:00", "+0100", "", "z") + `"`
	}
	return `"` + g.pick("2025", "2024", "0001", "9999") + "-" + g.pick("01", "12", "02") + "-" + g.pick("01", "09", "28") +
		g.pick("T00:00:00", "T23:59:59") + g.pick("", ".0", ".5", ".000001", ".123456789") +
		g.pick("Z", "+00:00", "-00:01", "+23:59") + `"`
}

func (g *generator) mask() string {
	if g.fault(3) {
		return `"` + g.pieces(5, "labels", "retryPolicy", ".minimumBackoff", ",", " ", "_", "1", "schema_settings", "é") + `"`
	}
	return `"` + g.pick("", "labels", "labels,tags", " retryPolicy.minimumBackoff ", "X,y1") + `"`
}

// sameOnBothSides is the property: any body is accepted by both sides or by none, and means the same.
func sameOnBothSides(t *rapid.T) {
	p := pairs[rapid.IntRange(0, len(pairs)-1).Draw(t, "message")]
	g := newGenerator(t)
	body := g.space() + g.message(p.theirs().ProtoReflect().Descriptor()) + g.space()
	if g.fault(50) {
		body += g.pick("x", "{}", ",", "null", "]")
	}
	p.compare(t, []byte(body))
}

func TestGeneratedJSON(t *testing.T) { rapid.Check(t, sameOnBothSides) }

func FuzzGeneratedJSON(f *testing.F) { f.Fuzz(rapid.MakeFuzz(sameOnBothSides)) }
