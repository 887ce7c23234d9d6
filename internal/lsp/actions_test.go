package lsp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/longtest"
)

type action struct {
	Title string `json:"title"`
	Kind  string `json:"kind"`
	Data  string `json:"data"`
	Edit  struct {
		Changes map[string][]struct {
			Range   struct{ Start, End position }
			NewText string
		}
		DocumentChanges []struct {
			Kind, URI string
			Edits     []struct{ NewText string }
		}
	} `json:"edit"`
}

func (e *editor) actions(before string, n int) (out []action) {
	e.t.Helper()
	p := e.requestAt(before, n)
	p["range"] = object{"start": p["position"], "end": p["position"]}
	e.call("textDocument/codeAction", p, &out)
	return out
}

const stubless = `graphrun: v1
name: review
start: look
state:
  verdict: {type: object, properties: {word: {type: string, enum: [accept, reject]}, why: {type: string}}, default: {}}
nodes:
  look: {kind: exec, command: [./look], parse: json, timeout: 5s, output: {type: object, properties: {word: {type: string, enum: [accept, reject]}}, required: [word]}, writes: {verdict: output}}
  done: {kind: exec, command: [./done], timeout: 5s}
edges:
  - {from: look, to: done, when: verdict.word == 'accept'}
  - {from: look, to: END}
  - {from: done, to: END}
`

// Tests are generated for a flow without tests, and the generated file passes.
func TestGenerateTestsAction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(path, []byte(stubless), 0o644); err != nil {
		t.Fatal(err)
	}
	e := newEditor(t, path, stubless)
	e.findings()
	list := e.actions("name:", 1)
	at := slices.IndexFunc(list, func(a action) bool { return a.Title == "Generate tests" })
	if at < 0 {
		t.Fatalf("actions are %+v", list)
	}
	var made action
	e.call("codeAction/resolve", list[at], &made)
	if changes := made.Edit.DocumentChanges; len(changes) != 2 || changes[0].Kind != "create" || !strings.HasSuffix(changes[0].URI, "/flow.test.yaml") {
		t.Fatalf("the edit is %+v", made.Edit)
	}
	test := filepath.Join(filepath.Dir(path), "flow.test.yaml")
	if err := os.WriteFile(test, []byte(made.Edit.DocumentChanges[1].Edits[0].NewText), 0o644); err != nil {
		t.Fatal(err)
	}
	passes(t, test)
	for _, a := range e.actions("name:", 1) {
		if a.Title == "Generate tests" {
			t.Error("offered although there are tests")
		}
	}
}

func passes(t *testing.T, test string) {
	t.Helper()
	f, found, err := flowtest.Load(flowtest.Config{}, test)
	if err != nil || found.HasErrors() {
		t.Fatal(err, found)
	}
	for _, r := range flowtest.Run(flowtest.Config{}, []*flowtest.File{f}).Results {
		if !r.Passed {
			t.Errorf("%s: %+v", r.Case, r.Failures)
		}
	}
}

// A stub is added to each form that a test file has, from the flow and from the test file.
func TestAddStubAction(t *testing.T) {
	for _, head := range []string{
		"", "defaults:\n  input: {}\n\n", "defaults: {input: {}}\n\n", "defaults:\n  stubs:\n    done: {output: x}\n\n", "defaults: {stubs: {done: {output: x}}}\n\n",
	} {
		text := "graphrun-test: v1\n\n" + head + "cases:\n  - name: one\n    expect: {status: completed}\n"
		dir := t.TempDir()
		path, test := filepath.Join(dir, "flow.yaml"), filepath.Join(dir, "flow.test.yaml")
		for name, text := range map[string]string{path: stubless, test: text} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, from := range []string{path, test} {
			source, before := stubless, "look: {"
			if from == test {
				source, before = text, "name: one"
			}
			e := newEditor(t, from, source)
			e.findings()
			list := e.actions(before, 1)
			at := slices.IndexFunc(list, func(a action) bool { return a.Title == "Add a stub for look to flow.test.yaml" })
			if at < 0 {
				t.Fatalf("from %s, the actions are %+v", from, list)
			}
			change := list[at].Edit.Changes["file://"+test][0]
			on := (&editor{text: text}).offset(change.Range.Start)
			after := text[:on] + change.NewText + text[on:]
			if !strings.Contains(head, "done") { // it is reached, too
				after = strings.Replace(after, "look: {", "done: {output: y}, look: {", 1)
				if strings.Contains(after, "    done: {output: y}, ") {
					after = strings.Replace(after, "done: {output: y}, ", "done: {output: y}\n    ", 1)
				}
			}
			if err := os.WriteFile(test, []byte(after), 0o644); err != nil {
				t.Fatal(err)
			}
			passes(t, test)
			if err := os.WriteFile(test, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestFindingsOfTestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(path, []byte(stubless), 0o644); err != nil {
		t.Fatal(err)
	}
	e := newEditor(t, strings.Replace(path, "flow.yaml", "flow.test.yaml", 1), "graphrun-test: v1\ncases:\n  - {name: one, stub: {}, expect: {status: completed}}\n")
	if got := e.findings(); !slices.Contains(got, "unknown-key") {
		t.Errorf("findings are %q", got)
	}
}

// Completion offers the members of objects and the values of enums.
func TestTypedCompletion(t *testing.T) {
	e := newEditor(t, filepath.Join(t.TempDir(), "flow.yaml"), stubless)
	e.findings()
	for before, want := range map[string]string{
		"word == 'acc": "why", "'accept'}": "'reject'", "accept'}": "reject",
	} {
		if got := labels(t, e, e.requestAt(before, 1)); !slices.Contains(got, want) {
			t.Errorf("before %q, %q is offered, want %q", before, got, want)
		}
	}
}

// Hovering over a comment that suppresses a rule explains the rule.
func TestHoverOfRule(t *testing.T) {
	e := newEditor(t, filepath.Join(t.TempDir(), "flow.yaml"), stubless+"# graphrun: ignore missing-timeout\n")
	var hover struct{ Contents struct{ Value string } }
	e.call("textDocument/hover", e.requestAt("missing-timeout", 1), &hover)
	if !strings.HasPrefix(hover.Contents.Value, "**missing-timeout** — ") {
		t.Errorf("it says %q", hover.Contents.Value)
	}
}

// Memory stays bounded over many edits: 2,000, or GRAPHRUN_LSP_EDITS.
func TestMemoryOverEdits(t *testing.T) {
	e := newEditor(t, filepath.Join(t.TempDir(), "flow.yaml"), flow)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	edit := func(n int) uint64 {
		at := strings.Index(e.text, "tries + 1")
		for i := range n {
			e.replace(at+8, at+9, fmt.Sprint(i%10))
			select {
			case <-e.published:
			default:
			}
		}
		e.call("textDocument/documentSymbol", object{"textDocument": object{"uri": e.uri}}, nil)
		return heap()
	}
	edits := longtest.Choose(500, 2000)
	if n, err := strconv.Atoi(os.Getenv("GRAPHRUN_LSP_EDITS")); err == nil {
		edits = n
	}
	few := edit(200)
	if many := edit(edits); many > few+8<<20 {
		t.Errorf("the heap grows from %d to %d bytes over %d edits", few, many, edits)
	}
}
