// Package input reads and checks the values that people give a run: inputs, answers and secrets. A
// problem is one sentence that names the key. This file holds inputs: key=value, typed by the state
// schema, and files of values.
package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// Reader collects the input of a run and all problems with it.
type Reader struct {
	graph    *spec.Graph
	readFile func(path string) ([]byte, error) // for key=@file
	values   map[string]any
	unread   map[string]any // the keys whose value can't be read
	problems []string
}

// NewReader returns a reader for the input of a graph.
func NewReader(g *spec.Graph) *Reader {
	read := func(path string) ([]byte, error) { return bounded.ReadStream(path, bounded.Text) }
	return &Reader{graph: g, readFile: read, values: map[string]any{}, unread: map[string]any{}}
}

// Values returns the input and its problems, sorted, one sentence each. A missing required key is
// a problem unless partial is set.
func (r *Reader) Values(partial bool) (values map[string]any, problems []string) {
	has := r.unread
	if partial {
		has = nil
	}
	values, wrong := Check(r.graph, r.values, has)
	problems = append(r.problems, wrong...)
	slices.Sort(problems)
	return values, problems
}

// ReadPair reads key=value, key=@file, key:=json or key:=@file. The file may be a pipe.
func (r *Reader) ReadPair(s string) {
	key, text, ok := strings.Cut(s, "=")
	if !ok || key == "" || key == ":" {
		r.problems = append(r.problems, fmt.Sprintf("%q is not an input (allowed: key=value, key=@file, key:=json)", s))
		return
	}
	key, isJSON := strings.CutSuffix(key, ":")
	value, err := r.readValue(key, text, isJSON)
	if err != nil {
		r.problems = append(r.problems, key+": "+err.Error())
		r.unread[key] = nil
		return
	}
	r.values[key] = value
}

func (r *Reader) readValue(key, text string, isJSON bool) (any, error) {
	var schema map[string]any
	declared := r.graph.Key(key)
	if declared != nil {
		schema = declared.Schema
	}
	if path, isFile := strings.CutPrefix(text, "@"); isFile {
		src, err := r.readFile(path)
		if err != nil {
			return nil, err
		}
		text = string(src)
		// Only text keeps the final line break of a file.
		if types := Types(schema); len(types) > 0 && !slices.Contains(types, "string") {
			text = strings.TrimSpace(text)
		}
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("is not UTF-8 text")
	}
	if !isJSON {
		return ParseTyped(text, schema), nil
	}
	value, err := ParseJSON([]byte(text))
	if err != nil && declared != nil && declared.Secret {
		return nil, errors.New("the value, which is secret and not shown, is not JSON")
	}
	return value, err
}

// ReadFile reads the text of an input file: a JSON or YAML object with a key per state key.
func (r *Reader) ReadFile(path string, src []byte) {
	value, err := readObject(path, src)
	object, ok := value.(map[string]any)
	if err == nil && !ok {
		err = errors.New("must hold an object with a value for each key")
	}
	if err != nil {
		r.problems = append(r.problems, path+": "+err.Error())
	}
	maps.Copy(r.values, object)
}

func readObject(path string, src []byte) (any, error) {
	trimmed := bytes.TrimSpace(src)
	isJSON := filepath.Ext(path) == ".json"
	if !utf8.Valid(src) {
		return nil, errors.New("is not UTF-8 text")
	}
	if !isJSON && !bytes.HasPrefix(trimmed, []byte("{")) {
		return ParseYAML(src)
	}
	value, err := ParseJSON(trimmed)
	if err != nil && !isJSON && !errors.Is(err, errDuplicateKey) {
		return ParseYAML(src) // a flow map: {a: 1}
	}
	return value, err
}

// Types returns the types that a schema allows, or nil if it allows any type.
func Types(schema map[string]any) []string { return keys.Texts(schema["type"]) }

// ParseTyped parses text as a value of the schema's type. With several types the first of null,
// boolean, integer, number, array, object and string that fits wins. Without a type, an enum
// decides, then JSON. Text that fits no type stays a string.
func ParseTyped(text string, schema map[string]any) any {
	types := Types(schema)
	enum, _ := schema["enum"].([]any)
	if v, err := ParseJSON([]byte(text)); len(types) == 0 && err == nil && !slices.Contains(enum, any(text)) {
		return v
	}
	for _, t := range []string{"null", "boolean", "integer", "number", "array", "object"} {
		if v, ok := convertText(text, t); ok && slices.Contains(types, t) {
			return v
		}
	}
	return text
}

func convertText(text, t string) (any, bool) {
	switch t {
	case "null":
		return nil, text == "null"
	case "boolean":
		return text == "true", text == "true" || text == "false"
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		return int(n), err == nil
	}
	v, err := ParseJSON([]byte(text))
	switch v.(type) {
	case int, float64:
		return v, t == "number" && err == nil
	case []any:
		return v, t == "array"
	case map[string]any:
		return v, t == "object"
	}
	f, err := strconv.ParseFloat(text, 64) // JSON lacks +1 and .5
	return f, t == "number" && err == nil && f-f == 0 && !strings.ContainsAny(text, "xX_")
}

// errDuplicateKey says that an object has the same key twice.
var errDuplicateKey = errors.New("is given twice in one object")

// ParseJSON parses one JSON value as canonical data. Duplicate keys are errors.
func ParseJSON(src []byte) (any, error) {
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

// ParseYAML parses one YAML document into plain data. An empty document is null, and dates stay
// text. The error completes a sentence: "is not YAML …".
func ParseYAML(src []byte) (any, error) {
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

// Check returns values of state keys as canonical data, and problems sorted by key. Required
// keys that has lacks must be in input, unless has is nil.
func Check(g *spec.Graph, input, has map[string]any) (values map[string]any, wrong []string) {
	out := make(map[string]any, len(input))
	problems := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(input)) {
		value, err := eval.Canonical(input[name])
		if err != nil {
			problems[name] = err.Error()
			continue
		}
		key := g.Key(name)
		if key == nil {
			if g.StrictState {
				problems[name] = describeUnknownKey(g, name)
			}
			out[name] = value
			continue
		}
		compiled, err := schema.Compile(key.Schema)
		if err == nil {
			out[name], err = compiled.Accept(value)
		}
		if err != nil {
			problem := err.Error()
			if key.Secret {
				problem = "the value, which is secret and not shown, does not fit"
			}
			problems[name] = problem + "; its schema is " + SchemaText(key.Schema)
		}
	}
	for _, key := range g.State {
		name := key.Name.Value
		_, given := input[name]
		if _, there := has[name]; has != nil && key.Required && !given && !there {
			problems[name] = "required, but not given; its schema is " + SchemaText(key.Schema)
		}
	}
	if len(problems) == 0 {
		return out, nil
	}
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		wrong = append(wrong, "input "+strconv.Quote(name)+": "+problems[name])
	}
	return nil, wrong
}

// SchemaText returns a schema in one line.
func SchemaText(doc map[string]any) string {
	compiled, err := schema.Compile(doc)
	if err != nil {
		return "broken"
	}
	return compiled.String()
}

func describeUnknownKey(g *spec.Graph, name string) string {
	names := make([]string, len(g.State))
	for i, key := range g.State {
		names[i] = key.Name.Value
	}
	slices.Sort(names)
	hint := suggest.DidYouMean(name, names)
	if hint == "" && len(names) > 0 {
		hint = "; declared: " + strings.Join(names, ", ")
	}
	return "no such state key" + hint
}
