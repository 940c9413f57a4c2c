package memory

import (
	"bytes"
	"maps"
	"reflect"

	"postrider/subscriptions"
)

// clone copies a record with all it points to. It goes by reflection so that a field added to a record later is isolated
// without a change here.
func clone[R any](r R) R {
	isolate(reflect.ValueOf(&r).Elem())
	return r
}

// isolate replaces what v, a copy already, shares with its original.
func isolate(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			v.Set(copied(v.Elem()).Addr())
		}
	case reflect.Slice:
		if !v.IsNil() {
			s := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(s, v)
			v.Set(s)
		}
		for i := range v.Len() {
			isolate(v.Index(i))
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		m := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, k := range v.MapKeys() {
			m.SetMapIndex(k, copied(v.MapIndex(k)))
		}
		v.Set(m)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() { // what is not exported is the type's own affair
				isolate(v.Field(i))
			}
		}
	}
}

// copied is an addressable, isolated copy of v.
func copied(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	isolate(c)
	return c
}

// cloneMessage copies m. Messages are many, so this one is written out.
func cloneMessage(m subscriptions.Message) subscriptions.Message {
	m.Data = bytes.Clone(m.Data)
	m.Attributes = maps.Clone(m.Attributes)
	return m
}
