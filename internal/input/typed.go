// Parsing text from the command line by the type of a schema.

package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// Types returns the types that a schema allows, or nothing for any.
func Types(schema map[string]any) []string {
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

// Typed parses text as a value of the schema's type. With several types the first of null,
// boolean, integer, number, array, object and string that fits wins. Without a type, an enum
// decides, then JSON. Text that fits no type stays a string.
func Typed(text string, schema map[string]any) any {
	types := Types(schema)
	enum, _ := schema["enum"].([]any)
	if v, err := JSON([]byte(text)); len(types) == 0 && err == nil && !slices.Contains(enum, any(text)) {
		return v
	}
	for _, t := range []string{"null", "boolean", "integer", "number", "array", "object"} {
		if v, ok := convert(text, t); ok && slices.Contains(types, t) {
			return v
		}
	}
	return text
}

// convert parses text as one type.
func convert(text, t string) (any, bool) {
	switch t {
	case "null":
		return nil, text == "null"
	case "boolean":
		return text == "true", text == "true" || text == "false"
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		return int(n), err == nil
	}
	v, err := JSON([]byte(text))
	switch v.(type) {
	case int, float64:
		return v, t == "number" && err == nil
	case []any:
		return v, t == "array"
	case map[string]any:
		return v, t == "object"
	}
	f, err := strconv.ParseFloat(text, 64) // forms that JSON lacks: +1, .5
	return f, t == "number" && err == nil && f-f == 0 && !strings.ContainsAny(text, "xX_")
}

// errDuplicateKey says that an object has the same key twice.
var errDuplicateKey = errors.New("is given twice in one object")

// JSON parses one JSON value as canonical data. Duplicate keys are errors.
func JSON(src []byte) (any, error) {
	if len(bytes.TrimSpace(src)) == 0 {
		return nil, errors.New("is empty, want a JSON value")
	}
	value, err := eval.ParseJSON(src)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("is not JSON: %w", err)
	} else if err != nil {
		return nil, err
	}
	spaced := bytes.ReplaceAll(src, []byte("\t"), []byte(" ")) // YAML has no tabs
	_, found := spec.ReadValue("", spaced, "")
	for _, d := range found {
		if d.Rule == "duplicate-key" {
			return nil, fmt.Errorf("%s %w", spaced[d.Span.From:d.Span.To], errDuplicateKey)
		}
	}
	return value, nil
}

// YAML parses one YAML document into plain data. An empty document is null, dates stay text.
// The error completes a sentence: "is not YAML …".
func YAML(src []byte) (any, error) {
	if len(bytes.TrimSpace(src)) == 0 {
		return nil, nil
	}
	value, found := spec.ReadValue("", src, "expected a value")
	if len(found) > 0 {
		d := &found[0]
		at := d.File.Position(d.Span.From)
		return nil, fmt.Errorf("is not YAML: line %d, column %d: %s", at.Line, at.Column, d.Message)
	}
	return value.Data(), nil
}
