package declared

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"strings"

	"postrider/server/api"
	"postrider/server/wire"
)

// Kind is what a resource is.
type Kind string

// The kinds, in the order in which one may need another.
const (
	Topic        Kind = "topic"
	Subscription Kind = "subscription"
)

// Kinds are all kinds in that order.
var Kinds = []Kind{Topic, Subscription}

// list is the key of a file under which the resources of a kind stand.
func (k Kind) list() string { return string(k) + "s" }

// message is a pointer to a new message of the kind.
func (k Kind) message() any {
	if k == Topic {
		return new(api.Topic)
	}
	return new(api.Subscription)
}

// references are the fields that hold the name of a resource, and of which kind.
var references = map[Kind][]reference{
	Topic:        {{"name", Topic}},
	Subscription: {{"name", Subscription}, {"topic", Topic}, {"deadLetterPolicy.deadLetterTopic", Topic}},
}

type reference struct {
	path string
	kind Kind
}

// Fields are the fields of a resource as JSON has them: maps, lists, strings, json.Numbers and booleans.
type Fields map[string]any

// JSON writes the fields.
func (f Fields) JSON() []byte {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err) // nothing in it that JSON does not have
	}
	return b
}

// Clone copies the fields so that a change of the copy leaves f as it is.
func (f Fields) Clone() Fields { return fieldsOf(f.JSON()) }

// fieldsOf reads an object that was found valid before.
func fieldsOf(object []byte) (f Fields) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if err := d.Decode(&f); err != nil {
		panic(err)
	}
	return f
}

// Resource is a topic or a subscription that a file declares or that a server has.
type Resource struct {
	Kind Kind
	Name string // in full
	Fields
	source // of what a file declares

	// Broken means that a file declares the resource, but that nothing more than its name can be read.
	Broken bool

	doubted map[string]bool // properties, see Doubt
}

// FromServer is the resource that a server answered. One with fields that this program does not know is refused, since they
// would get lost.
func FromServer(kind Kind, answer []byte) (Resource, error) {
	fields, err := kind.strict(answer)
	if err != nil {
		return Resource{}, fmt.Errorf("the server has what this postrider does not know (use the version of the server): %w", err)
	}
	name, _ := fields["name"].(string)
	return Resource{Kind: kind, Name: name, Fields: fields}, nil
}

// strict reads a message of the kind and writes it in its one form: names in lowerCamel, nothing that is empty.
func (k Kind) strict(object []byte) (Fields, error) {
	message := k.message()
	if err := wire.Unmarshal(object, message); err != nil {
		return nil, err
	}
	b, err := wire.Marshal(message)
	if err != nil {
		return nil, err
	}
	return fieldsOf(b), nil
}

// Settable are the fields without those that the server alone sets.
func (r Resource) Settable() Fields {
	fields := maps.Clone(r.Fields)
	for _, name := range r.Kind.outputs() {
		delete(fields, name)
	}
	return fields
}

// outputs are the fields that the server alone sets. The generated types mark them.
func (k Kind) outputs() (names []string) {
	t := reflect.TypeOf(k.message()).Elem()
	for i := range t.NumField() {
		if tag := t.Field(i).Tag; tag.Get("output") != "" {
			name, _, _ := strings.Cut(tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

// References are the full names of the topics that the resource is about, beside itself.
func (r Resource) References() (topics []string) {
	for _, topic := range r.Uses() {
		topics = append(topics, topic)
	}
	return topics
}

// Uses are the same, with the path of each.
func (r Resource) Uses() iter.Seq2[string, string] {
	return func(yield func(path, topic string) bool) {
		for _, reference := range references[r.Kind] {
			holder, key := r.holder(reference.path)
			if holder != nil && reference.path != "name" && !yield(reference.path, holder[key].(string)) {
				return
			}
		}
	}
}

// holder is the object that holds the string at a path, nil if there is none.
func (f Fields) holder(path string) (object map[string]any, key string) {
	object = f
	for {
		name, rest, nested := strings.Cut(path, ".")
		if !nested {
			if _, ok := object[name].(string); !ok {
				return nil, ""
			}
			return object, name
		}
		object, _ = object[name].(map[string]any)
		path = rest
	}
}

// complete puts full names in the places of ids.
func (r Resource) complete(project string) {
	for _, reference := range references[r.Kind] {
		if holder, key := r.holder(reference.path); holder != nil && !strings.Contains(holder[key].(string), "/") {
			holder[key] = "projects/" + project + "/" + reference.kind.list() + "/" + holder[key].(string)
		}
	}
}

// Shorten puts ids in the places of names of a project.
func (r Resource) Shorten(project string) {
	for _, reference := range references[r.Kind] {
		if holder, key := r.holder(reference.path); holder != nil {
			holder[key] = strings.TrimPrefix(holder[key].(string), "projects/"+project+"/"+reference.kind.list()+"/")
		}
	}
}
