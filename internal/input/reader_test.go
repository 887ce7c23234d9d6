package input

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/spec"
)

const inputFlow = `graphrun: v1
name: flow
start: a
state:
  n: {type: integer, required: true}
  s: {type: string}
  list: {type: array}
  maybe: {type: [number, "null"]}
  level: {type: string, enum: [low, high]}
  any: {}
nodes: {a: {kind: pass}}
edges: [{from: a, to: END}]
`

func inputGraph(tb testing.TB) *spec.Graph {
	tb.Helper()
	g, found := spec.Parse("flow.yaml", []byte(inputFlow), spec.Options{})
	if found.HasErrors() {
		tb.Fatal(found)
	}
	return g
}

func newInput(g *spec.Graph, files map[string]string) *Reader {
	r := NewReader(g)
	r.readFile = func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("no such file")}
	}
	return r
}

func TestPairs(t *testing.T) {
	files := map[string]string{"text": "a\nb\n", "number": " 7\n", "json": "[1, {}]\n", "bad": "\xff"}
	for _, c := range []struct {
		pair    string
		want    map[string]any
		problem string
	}{
		{"n=3", map[string]any{"n": 3}, ""},
		{"s=a=b", map[string]any{"s": "a=b"}, ""},
		{"s=", map[string]any{"s": ""}, ""},
		{"s=@text", map[string]any{"s": "a\nb\n"}, ""},
		{"n=@number", map[string]any{"n": 7}, ""},
		{"list:=@json", map[string]any{"list": []any{1, map[string]any{}}}, ""},
		{`s:="@text"`, map[string]any{"s": "@text"}, ""},
		{"maybe=null", map[string]any{"maybe": nil}, ""},
		{"maybe=2.5", map[string]any{"maybe": 2.5}, ""},
		{"any=x", map[string]any{"any": "x"}, ""},
		{"any=[1]", map[string]any{"any": []any{1}}, ""},
		{"n=x", nil, `input "n": "x" is not an integer; its schema is {type: integer}`},
		{"n", nil, `"n" is not an input (allowed: key=value, key=@file, key:=json)`},
		{"=x", nil, `"=x" is not an input (allowed: key=value, key=@file, key:=json)`},
		{":=1", nil, `":=1" is not an input (allowed: key=value, key=@file, key:=json)`},
		{"lst=1", nil, `input "lst": no such state key; did you mean "list"?`},
		{"zzzzzz=1", nil, `input "zzzzzz": no such state key; declared: any, level, list, maybe, n, s`},
		{"s=@bad", nil, `s: is not UTF-8 text`},
		{"s=@none", nil, `s: open none: no such file`},
		{"list:=[1", nil, `list: is not JSON: unexpected EOF`},
		{"list:=", nil, `list: is empty, want a JSON value`},
		{"any:=1e999", nil, `any: number "1e999" is beyond the range of a 64-bit float`},
	} {
		r := newInput(inputGraph(t), files)
		r.ReadPair(c.pair)
		values, problems := r.Values(true)
		if diff := cmp.Diff(c.problem, strings.Join(problems, "\n")); diff != "" {
			t.Errorf("%s: problems (-want +got)\n%s", c.pair, diff)
		}
		if diff := cmp.Diff(c.want, values); diff != "" && c.problem == "" {
			t.Errorf("%s (-want +got)\n%s", c.pair, diff)
		}
	}
}

func TestInputFiles(t *testing.T) {
	for _, c := range []struct {
		path, src string
		want      map[string]any
		problem   string
	}{
		{"in.json", `{"n": 1, "list": [1.5]}`, map[string]any{"n": 1, "list": []any{1.5}}, ""},
		{"in.yaml", "n: 1\ns: 2020-01-01\n", map[string]any{"n": 1, "s": "2020-01-01"}, ""},
		{"in.yaml", "{n: 1}", map[string]any{"n": 1}, ""},
		{"-", ` {"n": 1}`, map[string]any{"n": 1}, ""},
		{"in.json", `{n: 1}`, nil, "in.json: is not JSON: invalid character 'n' looking for beginning of object key string"},
		{"in.yaml", "[1]", nil, "in.yaml: must hold an object with a value for each key"},
		{"in.yaml", "", nil, "in.yaml: must hold an object with a value for each key"},
	} {
		r := newInput(inputGraph(t), nil)
		r.ReadFile(c.path, []byte(c.src))
		values, problems := r.Values(true)
		if diff := cmp.Diff(c.problem, strings.Join(problems, "\n")); diff != "" {
			t.Errorf("%s: problems (-want +got)\n%s", c.src, diff)
		}
		if diff := cmp.Diff(c.want, values); diff != "" && c.problem == "" {
			t.Errorf("%s (-want +got)\n%s", c.src, diff)
		}
	}
}

// FuzzInput checks that each -i and each input file yields either plain data for declared keys or a
// problem.
func FuzzInput(f *testing.F) {
	for _, seed := range []string{
		"n=3", "n=abc", "s=@text", "list:=[1,{\"a\":null}]", "maybe=-1.5e3", "level=high", "any={\"a\":[1]}", "x", "a: [1, *b]",
		"n: 1\ns: &a [*a]\n", "{\"n\": 1e400}", "? [a]\n: b\n", "<<: {n: 1}", "n: .inf", "\xff=\xfe",
	} {
		f.Add(seed)
	}
	g := inputGraph(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func(r *Reader){
			func(r *Reader) { r.ReadPair(text) },
			func(r *Reader) { r.ReadFile("in.yaml", []byte(text)) },
			func(r *Reader) { r.ReadFile("in.json", []byte(text)) },
		} {
			r := newInput(g, map[string]string{"text": text})
			read(r)
			values, problems := r.Values(true)
			for key, v := range values {
				if g.Key(key) == nil {
					t.Errorf("%q: %q is not a state key", text, key)
				}
				checkPlain(t, v)
			}
			if slices.Contains(problems, "") {
				t.Errorf("%q: an empty problem", text)
			}
		}
	})
}

// checkPlain checks that a value has only types that a run accepts.
func checkPlain(t *testing.T, v any) {
	switch v := v.(type) {
	case nil, bool, int, float64, string:
	case []any:
		for _, item := range v {
			checkPlain(t, item)
		}
	case map[string]any:
		for _, item := range v {
			checkPlain(t, item)
		}
	default:
		t.Errorf("%T is not plain data", v)
	}
	if _, err := json.Marshal(v); err != nil {
		t.Errorf("%v does not print as JSON: %v", v, err)
	}
}
