// Text from the command line as a value of a schema's type.

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// typesOf lists the types a schema allows; empty means any.
func typesOf(schema map[string]any) []string {
	switch t := schema["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, item := range t {
			if s, ok := item.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// typed reads text as a value of the schema's type. With several types the
// first of null, boolean, integer, number, array, object and string that fits
// wins. Without a type, text that is JSON is that value, other text a string,
// and an enum decides first.
func typed(text string, schema map[string]any) (any, error) {
	types := typesOf(schema)
	if len(types) == 0 {
		return untyped(text, schema), nil
	}
	for _, t := range []string{"null", "boolean", "integer", "number", "array", "object", "string"} {
		if !slices.Contains(types, t) {
			continue
		}
		if v, ok := convert(text, t); ok {
			if err := checkEnum(v, text, schema); err != nil {
				return nil, err
			}
			return v, nil
		}
	}
	return nil, fmt.Errorf("%s is not %s (schema %s)", quoteShort(text), describeTypes(types), schemaText(schema))
}

// convert reads text as one type.
func convert(text, t string) (any, bool) {
	switch t {
	case "string":
		return text, true
	case "null":
		return nil, text == "null"
	case "boolean":
		return text == "true", text == "true" || text == "false"
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		return int(n), err == nil
	case "number":
		v, err := decodeJSON([]byte(text))
		switch v.(type) {
		case int, float64:
			return v, err == nil
		}
		f, err := strconv.ParseFloat(text, 64) // forms that JSON lacks: +1, .5
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) && !strings.ContainsAny(text, "xX_")
	case "array":
		v, err := decodeJSON([]byte(text))
		list, ok := v.([]any)
		return list, err == nil && ok
	case "object":
		v, err := decodeJSON([]byte(text))
		object, ok := v.(map[string]any)
		return object, err == nil && ok
	}
	return nil, false
}

func untyped(text string, schema map[string]any) any {
	if enum, ok := schema["enum"].([]any); ok && slices.Contains(enum, any(text)) {
		return text
	}
	if v, err := decodeJSON([]byte(text)); err == nil {
		return v
	}
	return text
}

// checkEnum refuses scalars that are not in the schema's enum. The run checks
// the rest of the schema; this says it in the words of the command line.
func checkEnum(v any, text string, schema map[string]any) error {
	enum, ok := schema["enum"].([]any)
	if !ok {
		return nil
	}
	words := make([]string, 0, len(enum))
	for _, e := range enum {
		switch v.(type) {
		case []any, map[string]any:
			return nil
		}
		if numbersEqual(e, v) || e == v {
			return nil
		}
		words = append(words, fmt.Sprint(e))
	}
	return fmt.Errorf("%s is not allowed (allowed: %s)", quoteShort(text), strings.Join(words, ", "))
}

func numbersEqual(a, b any) bool {
	x, ok := asFloat(a)
	y, ok2 := asFloat(b)
	return ok && ok2 && x == y
}

func asFloat(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

func describeTypes(types []string) string {
	words := make([]string, 0, len(types))
	for _, t := range types {
		switch t {
		case "integer", "array", "object":
			words = append(words, "an "+t)
		case "null":
			words = append(words, "null")
		default:
			words = append(words, "a "+t)
		}
		if t == "array" || t == "object" {
			words[len(words)-1] += " in JSON"
		}
	}
	return strings.Join(words, " or ")
}

func quoteShort(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		s = string(runes[:59]) + "…"
	}
	return strconv.Quote(s)
}

// decodeJSON reads exactly one JSON value; whole numbers that fit are ints.
func decodeJSON(src []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("is empty, want a JSON value")
		}
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("is not JSON: text after the value")
	}
	if err := checkDuplicateKeys(json.NewDecoder(bytes.NewReader(src))); err != nil {
		return nil, err
	}
	return plain(v)
}

// errDuplicateKey is the error of an object with the same key twice.
var errDuplicateKey = errors.New("is given twice in one object")

// checkDuplicateKeys returns an error if an object in valid JSON has the same key twice:
// encoding/json would silently take the last value.
func checkDuplicateKeys(dec *json.Decoder) error {
	type level struct {
		keys  map[string]bool // nil in a list
		value bool            // the next text is a value
	}
	var open []*level
	for {
		token, err := dec.Token()
		if err != nil {
			return nil // the end
		}
		var at *level
		if len(open) > 0 {
			at = open[len(open)-1]
		}
		switch token {
		case json.Delim('{'):
			open = append(open, &level{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, &level{})
		case json.Delim('}'), json.Delim(']'):
			if open = open[:len(open)-1]; len(open) > 0 {
				open[len(open)-1].value = false
			}
			continue
		default:
			if at == nil || at.keys == nil {
				continue
			}
			if key, isKey := token.(string); isKey && !at.value {
				if at.keys[key] {
					return fmt.Errorf("%q %w", key, errDuplicateKey)
				}
				at.keys[key], at.value = true, true
				continue
			}
			at.value = false
		}
	}
}

// plain turns json.Number into int or float64 at any depth.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return int(n), nil
		}
		f, err := strconv.ParseFloat(v.String(), 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, fmt.Errorf("the number %s is too large", v)
		}
		return f, nil
	case []any:
		for i := range v {
			item, err := plain(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = item
		}
	case map[string]any:
		for key, item := range v {
			item, err := plain(item)
			if err != nil {
				return nil, err
			}
			v[key] = item
		}
	}
	return v, nil
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int, float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	}
	return "an object"
}
