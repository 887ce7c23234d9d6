package lsp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/spec"
)

// Each node of an example that is renamed is renamed in its tests and scripted answers: the
// tests pass, and renaming it back restores every file.
func TestRenamedExamplesPassTheirTests(t *testing.T) {
	paths, err := filepath.Glob("../../examples/*/flow.test.yaml")
	if err != nil || len(paths) < 20 {
		t.Fatal(len(paths), err)
	}
	for _, test := range paths {
		t.Run(filepath.Base(filepath.Dir(test)), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Dir(test))); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "flow.yaml")
			names := func() (out []string) {
				for _, n := range parseGraph(t, path).Nodes {
					out = append(out, n.ID.Value)
				}
				return out
			}
			before := contents(t, dir)
			all := names()
			for _, i := range slices.Compact([]int{len(all) / 2, 0, len(all) - 1}[:longtest.Choose(1, 3)]) {
				name := all[i]
				renameNode(t, path, i, "renamed_x")
				if got := names()[i]; got != "renamed_x" {
					t.Fatalf("%s is %s", name, got)
				}
				f, found, err := flowtest.Load(flowtest.Config{}, filepath.Join(dir, "flow.test.yaml"))
				if err != nil || found.HasErrors() {
					t.Fatalf("%s renamed: %v %v", name, err, found)
				}
				for _, r := range flowtest.Run(flowtest.Config{}, []*flowtest.File{f}).Results {
					for _, failed := range r.Failures {
						// a flow may use the name of a node as data
						want, got := fmt.Sprint(failed.Want), strings.ReplaceAll(fmt.Sprint(failed.Got), "renamed_x", name)
						if pattern, isPattern := strings.CutPrefix(want, "/"); want != got && (!isPattern || !regexp.MustCompile(strings.TrimSuffix(pattern, "/")).MatchString(got)) {
							t.Errorf("%s renamed: %s fails: %+v", name, r.Case, failed)
						}
					}
				}
				renameNode(t, path, i, name)
				if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
					t.Fatalf("%s renamed and back (-before +after):\n%s", name, diff)
				}
			}
		})
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// contents returns the files of a folder, by path.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out[path] = string(readFile(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// renameNode renames the i-th node of a flow, in all files.
func renameNode(t *testing.T, path string, i int, name string) {
	t.Helper()
	src := readFile(t, path)
	e := newEditor(t, path, string(src))
	n := parseGraph(t, path).Nodes[i]
	e.renameFiles(object{"textDocument": object{"uri": e.uri}, "position": e.position(n.ID.Span.From)}, name)
}

func parseGraph(t *testing.T, path string) *spec.Graph {
	t.Helper()
	g, found := spec.Parse(path, readFile(t, path), spec.Options{})
	if found.HasErrors() {
		t.Fatal(found)
	}
	return g
}

// renameFiles carries out a rename on disk.
func (e *editor) renameFiles(params object, name string) {
	e.t.Helper()
	params["newName"] = name
	var edit struct {
		Changes map[string][]struct {
			Range   struct{ Start, End position }
			NewText string
		}
	}
	e.call("textDocument/rename", params, &edit)
	for uri, changes := range edit.Changes {
		file := strings.TrimPrefix(uri, "file://")
		at := &editor{text: string(readFile(e.t, file))}
		out := at.text
		for _, c := range slices.Backward(changes) {
			from, to := at.offset(c.Range.Start), at.offset(c.Range.End)
			out = out[:from] + c.NewText + out[to:]
		}
		if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
			e.t.Fatal(err)
		}
	}
}

const (
	childFlow = `graphrun: v1
name: child
start: work
state: {topic: {type: string}, found: {type: string}}
nodes: {work: {kind: set, set: {found: topic + '!'}}, rest: {kind: exec, command: [sleep, "1"], timeout: 5s}}
edges: [{from: work, to: rest}, {from: rest, to: END}]
`
	callerFlow = `graphrun: v1
name: caller
start: call
state: {topic: {type: string, default: x}, result: {type: string}}
nodes:
  call: {kind: graph, graph: parts/child.yaml, with: {topic: topic}, writes: {result: output.state.found}}
  again: {kind: graph, graph: "#inner", with: {n: len(nodes.call.output.state.found)}}
edges:
  - {from: call, to: again, when: "output.state.found != topic"}
  - {from: call, to: END}
  - {from: again, to: END}
graphs:
  inner:
    start: one
    state: {n: {type: integer}}
    nodes: {one: {kind: exec, command: [echo, "{{ n }}"], timeout: 5s}}
    edges: [{from: one, to: END}]
`
	callerTests = `graphrun-test: v1
cases:
  - name: both
    input: {topic: y}
    stubs: {call/rest: {output: ""}, again/one: {output: one}}
    expect: {status: completed, state: {result: y!, topic: y}, path: [call, again], where: ["state.topic == 'y'"]}
`
)

// Names of a subgraph are renamed in graphs that run it, and in their tests.
func TestRenameAcrossFiles(t *testing.T) {
	for _, test := range []struct {
		file, before string
		n            int
		name         string
		want         map[string][]string // by file, what stands in it after
		unchanged    []string
	}{
		{"parts/child.yaml", "topic: {", 1, "subject", map[string][]string{
			"parts/child.yaml": {"state: {subject:", "found: subject + '!'"},
			"caller.yaml":      {"with: {subject: topic}", "state: {topic:"},
		}, []string{"caller.test.yaml"}},
		{"parts/child.yaml", "found", 1, "text", map[string][]string{
			"caller.yaml": {"result: output.state.text", "len(nodes.call.output.state.text)", `when: "output.state.text != topic"`},
		}, []string{"caller.test.yaml"}},
		{"caller.yaml", "found}", 1, "text", map[string][]string{ // from the caller
			"parts/child.yaml": {"text: {type: string}"}, "caller.yaml": {"result: output.state.text"},
		}, nil},
		{"parts/child.yaml", "rest: {", 1, "nap", map[string][]string{"caller.test.yaml": {"call/nap: {output"}}, []string{"caller.yaml"}},
		{"caller.yaml", "topic: {", 1, "subject", map[string][]string{
			"caller.yaml":      {"with: {topic: subject}", "!= subject"},
			"caller.test.yaml": {"input: {subject: y}", "subject: y}", "state.subject == 'y'"},
		}, []string{"parts/child.yaml"}},
		{"caller.yaml", "n: {type", 1, "size", map[string][]string{"caller.yaml": {"with: {size: len(", `"{{ size }}"`}}, nil},
		{"caller.yaml", "one: {kind", 1, "first", map[string][]string{"caller.test.yaml": {"again/first: {output"}, "caller.yaml": {"start: first"}}, nil},
		{"caller.yaml", "call: {", 1, "ask", map[string][]string{"caller.test.yaml": {"{ask/rest:", "path: [ask, again]"}, "caller.yaml": {"nodes.ask.output"}}, nil},
	} {
		dir := t.TempDir()
		files := map[string]string{"parts/child.yaml": childFlow, "caller.yaml": callerFlow, "caller.test.yaml": callerTests}
		if err := os.Mkdir(filepath.Join(dir, "parts"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		e := newEditor(t, filepath.Join(dir, test.file), files[test.file])
		e.renameFiles(e.requestAt(test.before, test.n), test.name)
		for name, wants := range test.want {
			got := string(readFile(t, filepath.Join(dir, name)))
			for _, want := range wants {
				if !strings.Contains(got, want) {
					t.Errorf("%s renamed: %q is missing in %s:\n%s", test.before, want, name, got)
				}
			}
		}
		for _, name := range test.unchanged {
			if got := string(readFile(t, filepath.Join(dir, name))); got != files[name] {
				t.Errorf("%s renamed: %s is\n%s", test.before, name, got)
			}
		}
		f, found, err := flowtest.Load(flowtest.Config{}, filepath.Join(dir, "caller.test.yaml"))
		if err != nil || found.HasErrors() {
			t.Fatalf("%s renamed: %v %v", test.before, err, found)
		}
		for _, r := range flowtest.Run(flowtest.Config{}, []*flowtest.File{f}).Results {
			if !r.Passed {
				t.Errorf("%s renamed: %+v", test.before, r.Failures)
			}
		}
	}
}
