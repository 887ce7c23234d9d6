// The input of a run: key=value, typed by the state schema, and files of values.

package given

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// Input collects the input of a run and all problems with it.
type Input struct {
	Graph *spec.Graph
	// ReadFile reads the file of key=@file. By default it reads a file or a pipe.
	ReadFile func(path string) ([]byte, error)

	values   map[string]any
	given    map[string]bool // keys that were given, also with a bad value
	problems []string
}

// Values returns the input and its problems, sorted, a sentence each. A missing required key is
// a problem unless partial is set.
func (r *Input) Values(partial bool) (values map[string]any, problems []string) {
	for _, k := range r.Graph.State {
		if name := k.Name.Value; k.Required && !r.given[name] && !partial {
			r.problem(name, "is required and was not given (schema %s); give it with -i %s=…", SchemaText(k.Schema), name)
		}
	}
	slices.Sort(r.problems)
	if r.values == nil {
		r.values = map[string]any{}
	}
	return r.values, slices.Compact(r.problems)
}

// problem adds a sentence about a key.
func (r *Input) problem(key, format string, args ...any) {
	r.problems = append(r.problems, key+": "+fmt.Sprintf(format, args...))
}

func (r *Input) set(key string, v any) {
	if r.values == nil {
		r.values = map[string]any{}
	}
	r.values[key] = v
}

// Pair reads key=value, key=@file, key:=json or key:=@file.
func (r *Input) Pair(s string) {
	key, text, ok := strings.Cut(s, "=")
	if !ok || key == "" || key == ":" {
		r.problem(fmt.Sprintf("%q", s), "is no input (allowed: key=value, key=@file, key:=json)")
		return
	}
	key, isJSON := strings.CutSuffix(key, ":")
	schema, ok := r.schemaFor(key)
	if !ok {
		return
	}
	value, err := r.read(text, isJSON, schema)
	var hidden hiddenError
	if declared := r.Graph.Key(key); errors.As(err, &hidden) && declared != nil && declared.Secret {
		r.problem(key, "the value, which is secret and not shown, is none of its schema")
	} else if err != nil {
		r.problem(key, "%v", err)
	} else {
		r.set(key, value)
	}
}

// hiddenError is an error that quotes the value, which may be secret.
type hiddenError struct{ error }

func (r *Input) read(text string, isJSON bool, schema map[string]any) (value any, err error) {
	if path, isFile := strings.CutPrefix(text, "@"); isFile {
		read := r.ReadFile
		if read == nil {
			read = func(path string) ([]byte, error) { return bounded.ReadStream(path, bounded.Text) }
		}
		src, err := read(path)
		if err != nil {
			return nil, err
		}
		text = string(src)
		// Only text keeps the last line break of a file.
		if types := Types(schema); len(types) > 0 && !slices.Contains(types, "string") {
			text = strings.TrimSpace(text)
		}
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("is not UTF-8 text")
	}
	if isJSON {
		value, err = JSON([]byte(text))
	} else {
		value, err = Typed(text, schema)
	}
	if err != nil {
		err = hiddenError{err}
	}
	return value, err
}

// File reads the text of an input file: a JSON or YAML object with a key per state key.
func (r *Input) File(path string, src []byte) {
	value, err := readObject(path, src)
	if err != nil {
		r.problem(path, "%v", err)
		return
	}
	object, ok := value.(map[string]any)
	if !ok {
		r.problem(path, "must hold an object with a value for each key, got %s", kindOf(value))
		return
	}
	for key, v := range object {
		if _, ok := r.schemaFor(key); ok {
			r.set(key, v)
		}
	}
}

func readObject(path string, src []byte) (any, error) {
	trimmed := bytes.TrimSpace(src)
	isJSON := filepath.Ext(path) == ".json"
	if !utf8.Valid(src) {
		return nil, errors.New("is not UTF-8 text")
	}
	if !isJSON && !bytes.HasPrefix(trimmed, []byte("{")) {
		return YAML(src)
	}
	value, err := JSON(trimmed)
	if err != nil && !isJSON && !errors.Is(err, errDuplicateKey) {
		return YAML(src) // a flow map: {a: 1}
	}
	return value, err
}

// schemaFor records that a key is given and returns its schema. For an unknown key it adds a problem
// and returns false.
func (r *Input) schemaFor(key string) (map[string]any, bool) {
	if r.given == nil {
		r.given = map[string]bool{}
	}
	r.given[key] = true
	if k := r.Graph.Key(key); k != nil {
		return k.Schema, true
	}
	if !r.Graph.StrictState && key != "" {
		return nil, true
	}
	var names []string
	for _, k := range r.Graph.State {
		names = append(names, k.Name.Value)
	}
	slices.Sort(names)
	allowed := "the graph declares no state"
	if len(names) > 0 {
		allowed = "state keys: " + strings.Join(names, ", ")
	}
	r.problem(key, "is no state key%s (%s)", suggest.DidYouMean(key, names), allowed)
	return nil, false
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
