// Parsing text from the command line by the type of a schema.

package given

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
// decides, then JSON, else the text is a string.
func Typed(text string, schema map[string]any) (any, error) {
	types := Types(schema)
	enum, _ := schema["enum"].([]any)
	if len(types) == 0 {
		if v, err := JSON([]byte(text)); err == nil && !slices.Contains(enum, any(text)) {
			return v, nil
		}
		return text, nil
	}
	for _, t := range []string{"null", "boolean", "integer", "number", "array", "object", "string"} {
		if !slices.Contains(types, t) {
			continue
		}
		if v, ok := convert(text, t); ok {
			return v, checkEnum(v, text, enum)
		}
	}
	return nil, fmt.Errorf("%s is not %s (schema %s)", quoteShort(text), describeTypes(types), SchemaText(schema))
}

// convert parses text as one type.
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

// checkEnum refuses scalars outside the schema's enum, with a message for the command line.
// The run checks the rest of the schema.
func checkEnum(v any, text string, enum []any) error {
	switch v.(type) {
	case []any, map[string]any:
		return nil
	}
	words := make([]string, len(enum))
	for i, e := range enum {
		if fmt.Sprint(e) == fmt.Sprint(v) {
			return nil
		}
		words[i] = fmt.Sprint(e)
	}
	if len(enum) == 0 {
		return nil
	}
	return fmt.Errorf("%s is not allowed (allowed: %s)", quoteShort(text), strings.Join(words, ", "))
}

func describeTypes(types []string) string {
	words := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "integer":
			t = "an integer"
		case "array", "object":
			t = "an " + t + " in JSON"
		case "null":
		default:
			t = "a " + t
		}
		words[i] = t
	}
	return strings.Join(words, " or ")
}

func shorten(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

func quoteShort(s string) string { return strconv.Quote(shorten(s, 60)) }

// SchemaText formats a schema in one short line.
func SchemaText(schema map[string]any) string {
	if len(schema) == 0 {
		return "{}, any value"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(schema); err != nil {
		return fmt.Sprint(schema)
	}
	return shorten(strings.NewReplacer(`"`, "", ":", ": ", ",", ", ").Replace(strings.TrimSpace(b.String())), 160)
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
