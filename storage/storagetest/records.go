package storagetest

import (
	"fmt"
	"reflect"
	"time"
)

// filled makes a record of which no field is empty, so that one added later is tested too.
func filled[R any]() R {
	var r R
	fill(reflect.ValueOf(&r).Elem())
	return r
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("https://example.com/é?a={b}&c=\"\\")
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(2)
		if v.Type() == reflect.TypeFor[time.Duration]() {
			v.SetInt(int64(90*time.Second + 250*time.Millisecond))
		}
	case reflect.Float64:
		v.SetFloat(0.1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		if t, ok := v.Addr().Interface().(*time.Time); ok {
			*t = time.UnixMilli(1_800_000_000_123).UTC()
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() { // what is not exported is not stored
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.SetMapIndex(key, value)
	default:
		panic(fmt.Sprintf("a record holds a %s, which this test cannot fill", v.Kind()))
	}
}

func projectOf(record any) string {
	return reflect.ValueOf(record).FieldByName("Name").FieldByName("Project").String()
}

// spoil changes what a record shares with its copies.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return // shares nothing that can be changed
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				spoil(v.Field(i))
			}
		}
	case reflect.Pointer:
		spoil(v.Elem())
		v.Elem().SetZero()
	case reflect.Slice:
		spoil(v.Index(0))
		v.Index(0).SetZero()
	case reflect.Map:
		v.Clear()
	}
}
