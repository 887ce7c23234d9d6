// Package keys decodes the evaluated keys of a node, tool or provider into structs.
package keys

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// Decode sets the fields of a struct whose tags name a key: `key:"max_turns" default:"10" min:"1"`.
// An absent or null key sets the default, or without one leaves the field as it is. A field is a
// string (takes any scalar), int, float64, *float64, bool, time.Duration, []string (takes a scalar
// or a list), map[string]any, []any or any. The error says which key is wrong, and how.
func Decode(values map[string]any, into any) error {
	out := reflect.ValueOf(into).Elem()
	for i := range out.NumField() {
		tag := out.Type().Field(i).Tag
		key := tag.Get("key")
		value := values[key]
		if fallback, ok := tag.Lookup("default"); ok && value == nil {
			value = fallback
			if parsed, err := eval.ParseJSON([]byte(fallback)); err == nil {
				value = parsed
			}
		}
		if key == "" || value == nil {
			continue
		}
		least := math.MinInt32
		if text, bounded := tag.Lookup("min"); bounded {
			least, _ = strconv.Atoi(text)
		}
		if wanted := setField(out.Field(i), value, least); wanted != "" {
			if eval.IsMedia(value) {
				return fmt.Errorf("%q holds images, files or audio; it is a text, and these stand in \"prompt\"", key)
			}
			shown := Preview(value)
			if wanted == "a map" || wanted == "a list" {
				shown = TypeName(value)
			}
			return fmt.Errorf("%q is %s; %s is wanted", key, shown, wanted)
		}
	}
	return nil
}

// setField sets a field to a value, or says what it takes.
func setField(field reflect.Value, value any, least int) (wanted string) {
	switch into := field.Addr().Interface().(type) {
	case *string:
		if !isScalar(value) {
			return "a text"
		}
		*into = eval.Text(value)
	case *int:
		n, ok := WholeNumber(value)
		if !ok || n < least || n > math.MaxInt32 {
			return fmt.Sprintf("a whole number from %d to %d", least, math.MaxInt32)
		}
		*into = n
	case *float64:
		n, ok := eval.Number(value)
		if !ok {
			return "a number"
		}
		*into = n
	case **float64:
		*into = new(float64)
		return setField(field.Elem(), value, least)
	case *bool:
		return setTyped(into, value, "a boolean")
	case *time.Duration:
		text, _ := value.(string)
		d, err := time.ParseDuration(text)
		if err != nil {
			return "a duration such as 30s"
		}
		*into = d
	case *[]string:
		*into = Texts(value)
	case *map[string]any:
		return setTyped(into, value, "a map")
	case *[]any:
		return setTyped(into, value, "a list")
	case *any:
		*into = value
	}
	return ""
}

// setTyped sets a field to a value of its type, or returns what the field takes.
func setTyped[T any](into *T, value any, takes string) (wanted string) {
	v, ok := value.(T)
	if !ok {
		return takes
	}
	*into = v
	return ""
}

func isScalar(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return false
	}
	return true
}

// WholeNumber returns a number without a fraction as an int.
func WholeNumber(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case float64:
		return int(n), n == math.Trunc(n) && math.Abs(n) <= 1<<53
	}
	return 0, false
}

// Texts returns the texts of a scalar or of a list; none for null.
func Texts(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		out := make([]string, len(v))
		for i := range v {
			out[i] = eval.Text(v[i])
		}
		return out
	}
	return []string{eval.Text(v)}
}

// Sorted returns the keys of a map in order.
func Sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// TypeName names the type of a value in messages.
func TypeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// Preview shows a scalar in a message, and the type of other values.
func Preview(v any) string {
	text, isText := v.(string)
	switch {
	case !isScalar(v):
		return TypeName(v)
	case isText:
		return strconv.Quote(eval.Shorten(text, 60))
	}
	return eval.Text(v)
}
