// The input of a run: key=value, typed by the state schema, and files of values.

package input

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/internal/bounded"
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

// Values returns the input and its problems, sorted, a sentence each. A missing required key is
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

// Pair reads key=value, key=@file, key:=json or key:=@file, with a file or a pipe.
func (r *Reader) Pair(s string) {
	key, text, ok := strings.Cut(s, "=")
	if !ok || key == "" || key == ":" {
		r.problems = append(r.problems, fmt.Sprintf("%q: is no input (allowed: key=value, key=@file, key:=json)", s))
		return
	}
	key, isJSON := strings.CutSuffix(key, ":")
	value, err := r.read(key, text, isJSON)
	if err != nil {
		r.problems = append(r.problems, key+": "+err.Error())
		r.unread[key] = nil
		return
	}
	r.values[key] = value
}

func (r *Reader) read(key, text string, isJSON bool) (any, error) {
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
		// Only text keeps the last line break of a file.
		if types := Types(schema); len(types) > 0 && !slices.Contains(types, "string") {
			text = strings.TrimSpace(text)
		}
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("is not UTF-8 text")
	}
	if !isJSON {
		return Typed(text, schema), nil
	}
	value, err := JSON([]byte(text))
	if err != nil && declared != nil && declared.Secret {
		return nil, errors.New("the value, which is secret and not shown, is not JSON")
	}
	return value, err
}

// File reads the text of an input file: a JSON or YAML object with a key per state key.
func (r *Reader) File(path string, src []byte) {
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
		return YAML(src)
	}
	value, err := JSON(trimmed)
	if err != nil && !isJSON && !errors.Is(err, errDuplicateKey) {
		return YAML(src) // a flow map: {a: 1}
	}
	return value, err
}
