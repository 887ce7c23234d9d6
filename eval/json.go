// JSON as canonical data.

package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
)

// ParseJSON reads one JSON value as canonical data.
func ParseJSON(data []byte) (v any, err error) {
	err = DecodeJSON(data, &v)
	return v, err
}

// DecodeJSON reads one JSON value like json.Unmarshal. Values without a type become canonical
// data, because float64 would change integers beyond 2^53.
func DecodeJSON(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return canonicalize(reflect.ValueOf(into))
}

// canonicalize converts all values without a type inside v.
func canonicalize(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() || v.NumMethod() > 0 {
			return nil
		}
		plain, err := Canonical(v.Interface())
		if err == nil {
			v.Set(reflect.ValueOf(plain))
		}
		return err
	case reflect.Pointer:
		return canonicalize(v.Elem()) // does nothing for nil
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				if err := canonicalize(field); err != nil {
					return err
				}
			}
		}
	case reflect.Slice:
		for i := 0; i < v.Len() && v.Type().Elem().Kind() != reflect.Uint8; i++ {
			if err := canonicalize(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(key))
			if err := canonicalize(item); err != nil {
				return err
			}
			v.SetMapIndex(key, item)
		}
	}
	return nil
}
