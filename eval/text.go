// How values print inside text, and JSON in both directions.

package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
)

// Text is how a value prints inside a template: strings as they are, null as
// nothing, numbers in their shortest form (whole ones without a fraction),
// lists and objects as compact JSON with sorted keys.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		return formatFloat(v)
	}
	plain, err := Canonical(v)
	if err != nil {
		return ""
	}
	switch plain.(type) {
	case []any, map[string]any:
		return encodeJSON(plain)
	}
	return Text(plain)
}

func formatFloat(f float64) string {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return ""
	case f == math.Trunc(f) && math.Abs(f) < 1e15:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// encodeJSON is compact, has sorted keys and leaves <, > and & as they are.
func encodeJSON(plain any) string {
	out, err := AppendJSON(nil, plain)
	if err != nil {
		return ""
	}
	return string(out)
}

var errTrailing = errors.New("more than one JSON value")

// decodeJSON reads one JSON value, keeping integers exact.
func decodeJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return v, nil
}
