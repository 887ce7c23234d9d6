// Decoding of payloads to plain data.

package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"github.com/graphrun/graphrun/eval"
)

// plainConverter converts plain data to JSON and back.
type plainConverter struct {
	*converter.JSONPayloadConverter
}

// FromPayload decodes a value.
func (plainConverter) FromPayload(p *common.Payload, into any) error {
	if err := decode(p.GetData(), into); err != nil {
		return fmt.Errorf("%w: %w", converter.ErrUnableToDecode, err)
	}
	return nil
}

// plainData returns the converter of the SDK, except that numbers keep their digits.
func plainData() converter.DataConverter {
	return converter.NewCompositeDataConverter(
		converter.NewNilPayloadConverter(), converter.NewByteSlicePayloadConverter(), converter.NewProtoJSONPayloadConverter(),
		converter.NewProtoPayloadConverter(), plainConverter{converter.NewJSONPayloadConverter()},
	)
}

// decode reads JSON. Values without a type become canonical data, as in [eval.Canonical]. The
// value that into held before is not changed, because it may be shared.
func decode(text []byte, into any) error {
	to := reflect.ValueOf(into).Elem()
	fresh := reflect.New(to.Type())
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(fresh.Interface()); err != nil {
		return err
	}
	to.Set(fresh.Elem())
	return canonize(to)
}

// canonize makes all values without a type canonical data.
func canonize(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() || v.NumMethod() > 0 {
			return nil
		}
		plain, err := eval.Canonical(v.Interface())
		if err == nil {
			v.Set(reflect.ValueOf(plain))
		}
		return err
	case reflect.Pointer:
		if !v.IsNil() {
			return canonize(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				if err := canonize(field); err != nil {
					return err
				}
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			if err := canonize(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			if err := canonize(value); err != nil {
				return err
			}
			v.SetMapIndex(key, value)
		}
	}
	return nil
}
