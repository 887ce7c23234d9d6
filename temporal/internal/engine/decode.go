// Decoding of payloads to plain data.

package engine

import (
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
	if err := eval.DecodeJSON(text, fresh.Interface()); err != nil {
		return err
	}
	to.Set(fresh.Elem())
	return nil
}
