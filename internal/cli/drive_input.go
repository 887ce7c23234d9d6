// A run's input: -i key=value, typed by the state schema, and --input-file.

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/given"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// inputReader gathers the input of a run. Problems are collected, so that one
// call names all of them.
type inputReader struct {
	graph    *spec.Graph
	readFile func(path string) ([]byte, error)
	values   map[string]any
	given    map[string]bool // keys that were given, well or badly
	problems []string
}

// readInput builds the input from --input-file and -i, which wins. A required
// key that is missing is a problem unless partial.
func (a *app) readInput(g *spec.Graph, file string, pairs []string, partial bool) (map[string]any, error) {
	r := &inputReader{graph: g, readFile: readStream, values: map[string]any{}, given: map[string]bool{}}
	if file != "" {
		src, err := a.readPath(file)
		if err != nil {
			return nil, usage(fmt.Errorf("--input-file: %w", err))
		}
		r.object(file, src)
	}
	for _, pair := range pairs {
		r.pair(pair)
	}
	if !partial {
		r.missing()
	}
	if len(r.problems) > 0 {
		slices.Sort(r.problems)
		return nil, &runner.InputError{Problems: slices.Compact(r.problems)}
	}
	return r.values, nil
}

// readPath reads a file, or stdin for "-".
func (a *app) readPath(path string) ([]byte, error) {
	if path == "-" {
		return bounded.ReadAll(a.Stdin, "stdin", bounded.Text)
	}
	src, err := bounded.ReadArgument(path, bounded.Text)
	if err != nil {
		err = fmt.Errorf("%w%s", err, suggestFile(path))
	}
	return src, err
}

// suggestFile returns "; did you mean …" with the name of a similar flow file beside a path
// that can't be read, or "".
func suggestFile(path string) string {
	folder, isFolder := filepath.Dir(path), false
	if info, err := os.Stat(path); err == nil {
		if !info.IsDir() {
			return ""
		}
		folder, isFolder = path, true
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ""
	}
	var flows []string
	base := filepath.Base(path)
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if e.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, ext) || flowtest.IsTestFile(e.Name()) {
			continue
		}
		if !isFolder && strings.TrimSuffix(e.Name(), ext) == strings.TrimSuffix(base, filepath.Ext(base)) {
			return fmt.Sprintf("; did you mean %q?", filepath.Join(folder, e.Name()))
		}
		flows = append(flows, e.Name())
	}
	near := suggest.Closest(base, flows)
	if isFolder && len(flows) > 0 {
		near = flows[0]
		if slices.Contains(flows, "flow.yaml") {
			near = "flow.yaml"
		}
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", filepath.Join(folder, near))
}

// readStream reads what an input is taken from: a pipe will do.
func readStream(path string) ([]byte, error) { return bounded.ReadStream(path, bounded.Text) }

// problem adds a sentence about a key.
func (r *inputReader) problem(key, format string, args ...any) {
	r.problems = append(r.problems, key+": "+fmt.Sprintf(format, args...))
}

// pair reads one -i: key=value, key=@file, key:=json or key:=@file.
func (r *inputReader) pair(s string) {
	key, text, ok := strings.Cut(s, "=")
	if !ok || key == "" || key == ":" {
		r.problem(fmt.Sprintf("%q", s), "is no input (allowed: key=value, key=@file, key:=json)")
		return
	}
	key, isJSON := strings.CutSuffix(key, ":")
	r.given[key] = true
	schema, ok := r.schema(key)
	if !ok {
		return
	}
	if path, isFile := strings.CutPrefix(text, "@"); isFile {
		src, err := r.readFile(path)
		if err != nil {
			r.problem(key, "%v", err)
			return
		}
		text = string(src)
		// A file's last line break belongs to the file; only text keeps it.
		if types := typesOf(schema); len(types) > 0 && !slices.Contains(types, "string") {
			text = strings.TrimSpace(text)
		}
	}
	if !utf8.ValidString(text) {
		r.problem(key, "is not UTF-8 text")
		return
	}
	var value any
	var err error
	if isJSON {
		value, err = decodeJSON([]byte(text))
	} else {
		value, err = typed(text, schema)
	}
	if declared := r.graph.Key(key); err != nil && declared != nil && declared.Secret {
		r.problem(key, "the value, which is secret and not shown, is none of its schema")
		return
	}
	if err != nil {
		r.problem(key, "%v", err)
		return
	}
	r.values[key] = value
}

// object reads an input file: a JSON or YAML object with a key per state key.
func (r *inputReader) object(path string, src []byte) {
	var value any
	var err error
	trimmed := bytes.TrimSpace(src)
	if !utf8.Valid(src) {
		r.problem(path, "is not UTF-8 text")
		return
	}
	if filepath.Ext(path) == ".json" || bytes.HasPrefix(trimmed, []byte("{")) {
		value, err = decodeJSON(trimmed)
		if err != nil && filepath.Ext(path) != ".json" && !errors.Is(err, errDuplicateKey) {
			value, err = given.YAML(src) // a flow map: {a: 1}
		}
	} else {
		value, err = given.YAML(src)
	}
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
		r.given[key] = true
		if _, ok := r.schema(key); ok {
			r.values[key] = v
		}
	}
}

// schema returns the schema of a key that may be given; false when it is
// unknown, which is a problem.
func (r *inputReader) schema(key string) (map[string]any, bool) {
	if k := r.graph.Key(key); k != nil {
		return k.Schema, true
	}
	if !r.graph.StrictState && key != "" {
		return nil, true
	}
	names := make([]string, 0, len(r.graph.State))
	for _, k := range r.graph.State {
		names = append(names, k.Name.Value)
	}
	slices.Sort(names)
	allowed := "the graph declares no state"
	if len(names) > 0 {
		allowed = "state keys: " + strings.Join(names, ", ")
	}
	if near := suggest.New(names).Closest(key); near != "" {
		r.problem(key, "is no state key; did you mean %q? (%s)", near, allowed)
	} else {
		r.problem(key, "is no state key (%s)", allowed)
	}
	return nil, false
}

// missing names the required keys without a value.
func (r *inputReader) missing() {
	for _, k := range r.graph.State {
		name := k.Name.Value
		if k.Required && !r.given[name] {
			r.problem(name, "is required and was not given (schema %s); give it with -i %s=…", schemaText(k.Schema), name)
		}
	}
}

// schemaText is a schema as one short line.
func schemaText(schema map[string]any) string {
	if len(schema) == 0 {
		return "{}, any value"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(schema); err != nil {
		return fmt.Sprint(schema)
	}
	text := strings.NewReplacer(`"`, "", ":", ": ", ",", ", ").Replace(strings.TrimSpace(b.String()))
	if runes := []rune(text); len(runes) > 160 {
		text = string(runes[:159]) + "…"
	}
	return text
}
