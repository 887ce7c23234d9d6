package lsp_test

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/internal/lsp"
)

type object = map[string]any

// editor is a client that has one file open.
type editor struct {
	t         *testing.T
	conn      *jsonrpc2.Conn
	uri       string
	version   int
	text      string
	published chan published
}

type published struct {
	URI         string
	Version     int
	Diagnostics []struct {
		Range struct{ Start, End position }
		Code  string
	}
}

type position struct{ Line, Character int }

type pipe struct {
	io.Reader
	io.WriteCloser
}

// newEditor starts a server and opens a file with a text.
func newEditor(t *testing.T, path, text string) *editor {
	t.Helper()
	toServer, fromEditor := io.Pipe()
	toEditor, fromServer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- lsp.New(lsp.Options{}).Serve(context.Background(), toServer, fromServer) }()
	e := &editor{t: t, uri: "file://" + path, text: text, published: make(chan published, 1000)}
	e.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewBufferedStream(pipe{toEditor, fromEditor}, jsonrpc2.VSCodeObjectCodec{}),
		jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
			var p published
			if err := json.Unmarshal(*r.Params, &p); err != nil {
				t.Error(err)
			}
			e.published <- p
			return nil, nil
		}))
	t.Cleanup(func() {
		e.call("shutdown", object{}, nil)
		_ = e.conn.Notify(context.Background(), "exit", object{}) // the server may be gone before it returns
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the server does not end")
		}
	})
	var answer struct{ Capabilities object }
	e.call("initialize", object{"capabilities": object{}, "rootUri": "file://" + root(path)}, &answer)
	if answer.Capabilities["renameProvider"] == nil {
		t.Errorf("the server can %v", answer.Capabilities)
	}
	e.notify("initialized", object{})
	e.notify("textDocument/didOpen", object{"textDocument": object{"uri": e.uri, "languageId": "yaml", "version": 0, "text": text}})
	return e
}

// root returns the workspace: the temporary folder that contains a file, or the file's folder.
func root(path string) string {
	if dir := filepath.Dir(path); filepath.Base(dir) != "parts" {
		return dir
	}
	return filepath.Dir(filepath.Dir(path))
}

func (e *editor) call(method string, params, result any) {
	e.t.Helper()
	if err := e.try(method, params, result); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) try(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return e.conn.Call(ctx, method, params, result)
}

func (e *editor) notify(method string, params any) {
	e.t.Helper()
	if err := e.conn.Notify(context.Background(), method, params); err != nil {
		e.t.Fatal(err)
	}
}

// requestAt returns parameters for the position before a text, which the file has once or n times.
func (e *editor) requestAt(before string, n int) object {
	e.t.Helper()
	at := -1
	for range n {
		next := strings.Index(e.text[at+1:], before)
		if next < 0 {
			e.t.Fatalf("%q is not there %d times", before, n)
		}
		at += next + 1
	}
	return object{"textDocument": object{"uri": e.uri}, "position": e.position(at)}
}

func (e *editor) position(offset int) object {
	line := strings.Count(e.text[:offset], "\n")
	start := strings.LastIndexByte(e.text[:offset], '\n') + 1
	return object{"line": line, "character": len(utf16.Encode([]rune(e.text[start:offset])))}
}

// replace edits the file, as typing does.
func (e *editor) replace(from, to int, with string) {
	e.t.Helper()
	r := object{"start": e.position(from), "end": e.position(to)}
	e.text = e.text[:from] + with + e.text[to:]
	e.version++
	e.notify("textDocument/didChange", object{
		"textDocument":   object{"uri": e.uri, "version": e.version},
		"contentChanges": []object{{"range": r, "text": with}},
	})
}

// findings waits for the findings of the current text.
func (e *editor) findings() []string {
	e.t.Helper()
	for {
		select {
		case p := <-e.published:
			if p.Version != e.version || p.URI != e.uri {
				continue
			}
			out := []string{}
			for _, d := range p.Diagnostics {
				out = append(out, d.Code)
			}
			return out
		case <-time.After(20 * time.Second):
			e.t.Fatal("no findings were published")
		}
	}
}

// want returns the findings of the command line.
func (e *editor) want() []string {
	out := []string{}
	for _, d := range inspect.Check(strings.TrimPrefix(e.uri, "file://"), []byte(e.text), false).Found {
		out = append(out, d.Rule)
	}
	return out
}

const flow = `graphrun: v1
name: flow
start: draft
state:
  tries: {type: integer, default: 0, description: how often it was written}
  größe: {type: string}
nodes:
  draft: {kind: set, set: {tries: tries + 1}}
  check:
    kind: exec
    command: [echo, "𝄞 {{ tries }} {{ visits.draft }}"]
    timeout: 5s
  done: {kind: pass}
edges:
  - {from: draft, to: check}
  - {from: check, to: draft, when: "tries < 3 and nodes.draft.visits < 9"}
  - {from: check, to: done}
  - {from: done, to: END}
`

func labels(t *testing.T, e *editor, params object) []string {
	t.Helper()
	var items []struct{ Label string }
	e.call("textDocument/completion", params, &items)
	var out []string
	for _, item := range items {
		out = append(out, item.Label)
	}
	return out
}

func TestSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flow.yaml")
	e := newEditor(t, path, flow)
	if diff := cmp.Diff(e.want(), e.findings()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}

	// While an edge is typed letter by letter, its target is offered. The finished edge is correct.
	at := strings.Index(e.text, "  - {from: done, to: END}")
	for i, letter := range "  - {from: done, to: " {
		e.replace(at+i, at+i, string(letter))
	}
	params := object{"textDocument": object{"uri": e.uri}, "position": e.position(at + len("  - {from: done, to: "))}
	if got := labels(t, e, params); !slices.Contains(got, "check") || !slices.Contains(got, "END") {
		t.Errorf("behind to: %q is offered", got)
	}
	for i, letter := range "chek}\n" {
		e.replace(at+len("  - {from: done, to: ")+i, at+len("  - {from: done, to: ")+i, string(letter))
	}
	if got := e.findings(); !slices.Contains(got, "unknown-node") {
		t.Errorf("a misspelt target gives %q", got)
	}

	// Its fix is the fix of validate --fix.
	var actions []struct {
		Title string
		Edit  struct {
			Changes map[string][]struct{ NewText string }
		}
	}
	r := e.requestAt("chek", 1)
	r["range"] = object{"start": r["position"], "end": r["position"]}
	e.call("textDocument/codeAction", r, &actions)
	if len(actions) != 1 || actions[0].Edit.Changes[e.uri][0].NewText != "check" {
		t.Errorf("the fixes are %+v", actions)
	}
	begin := strings.Index(e.text, "  - {from: done, to: chek}\n")
	e.replace(begin, begin+len("  - {from: done, to: chek}\n"), "")
	if diff := cmp.Diff(e.want(), e.findings()); diff != "" || e.text != flow {
		t.Errorf("undone (-want +got):\n%s", diff)
	}

	// Completion inside of expressions, templates, and of keys and their values.
	for _, test := range []struct {
		before, want string
	}{
		{"tries }}", "tries"},
		{"draft }}", "check"},
		{"tries < 3", "visits"},
		{"tries < 3", "len"},
		{"draft.visits", "done"},
		{"timeout: 5s", "retry"},
		{"timeout: 5s", "env"},
		{"exec\n", "human"},
		{"edges:", "policies"},
	} {
		if got := labels(t, e, e.requestAt(test.before, 1)); !slices.Contains(got, test.want) {
			t.Errorf("before %q, %q is offered, want %q", test.before, got, test.want)
		}
	}

	// Hover, definition and references of names.
	var hover struct{ Contents struct{ Value string } }
	for before, want := range map[string]string{
		"draft.visits": "Edges from: check", "tries < 3": "how often it was written", "timeout": "**timeout**", "tries: {type": "Written by: draft",
	} {
		e.call("textDocument/hover", e.requestAt(before, 1), &hover)
		if !strings.Contains(hover.Contents.Value, want) {
			t.Errorf("at %q it says %q, want %q", before, hover.Contents.Value, want)
		}
	}
	var place struct{ Range struct{ Start position } }
	e.call("textDocument/definition", e.requestAt("draft }}", 1), &place)
	if place.Range.Start != (position{7, 2}) {
		t.Errorf("draft is declared at %v", place)
	}
	var uses []struct{ Range struct{ Start position } }
	e.call("textDocument/references", e.requestAt("draft:", 1), &uses)
	if len(uses) != 6 || uses[2].Range.Start != (position{10, 46}) { // behind a character of two units
		t.Errorf("draft stands at %+v", uses)
	}
	var outline []struct{ Name string }
	e.call("textDocument/documentSymbol", object{"textDocument": object{"uri": e.uri}}, &outline)
	if len(outline) != 5 {
		t.Errorf("the outline is %+v", outline)
	}

	// A rename changes every use of a name. The server refuses a name that another node has.
	if got := e.rename(e.requestAt("draft:", 1), "write"); strings.Contains(got, "draft") || strings.Count(got, "write") != 6 {
		t.Errorf("renamed it is\n%s", got)
	}
	if got := e.rename(e.requestAt("tries + 1", 1), "count"); strings.Contains(got, "tries") || strings.Count(got, "count") != 5 {
		t.Errorf("renamed it is\n%s", got)
	}
	params = e.requestAt("draft:", 1)
	params["newName"] = "check"
	if err := e.try("textDocument/rename", params, nil); err == nil || !strings.Contains(err.Error(), `node "check" already exists`) {
		t.Errorf("a name that is taken: %v", err)
	}
	var edits []struct{ NewText string }
	e.replace(0, len("graphrun: v1\nname: flow\n"), "name: flow\ngraphrun: v1\n")
	e.call("textDocument/formatting", object{"textDocument": object{"uri": e.uri}}, &edits)
	if len(edits) != 1 || !strings.HasPrefix(edits[0].NewText, "graphrun: v1\nname: flow\n") {
		t.Errorf("formatted it is %v", edits)
	}
}

// rename returns the text after a renaming.
func (e *editor) rename(params object, name string) string {
	e.t.Helper()
	params["newName"] = name
	var edit struct {
		Changes map[string][]struct {
			Range   struct{ Start, End position }
			NewText string
		}
	}
	e.call("textDocument/rename", params, &edit)
	out := e.text
	for _, change := range slices.Backward(edit.Changes[e.uri]) {
		from, to := e.offset(change.Range.Start), e.offset(change.Range.End)
		out = out[:from] + change.NewText + out[to:]
	}
	return out
}

func (e *editor) offset(p position) int {
	at := 0
	for range p.Line {
		at += strings.IndexByte(e.text[at:], '\n') + 1
	}
	for units := 0; units < p.Character; {
		r := []rune(e.text[at:])[0]
		units += len(utf16.Encode([]rune{r}))
		at += len(string(r))
	}
	return at
}

// Random edits never break the server, and end in the findings of a fresh check; with
// lines that end in CR and LF too.
func TestRandomEdits(t *testing.T) {
	for _, text := range []string{flow, strings.ReplaceAll(flow, "\n", "\r\n")} {
		e := newEditor(t, filepath.Join(t.TempDir(), "flow.yaml"), text)
		random := rand.New(rand.NewPCG(1, uint64(len(text))))
		pieces := []string{"", "", "{", "}", "to: ", "\n", "  - ", "𝄞", "draft", "\"", "'", "{{ ", "nodes.", ": ", "ü"}
		for range longtest.Choose(50, 150) {
			from := random.IntN(len(e.text))
			to := min(len(e.text), from+random.IntN(4))
			if !isStart(e.text, from) || !isStart(e.text, to) {
				continue
			}
			e.replace(from, to, pieces[random.IntN(len(pieces))])
			params := object{"textDocument": object{"uri": e.uri}, "position": e.position(from), "newName": "other"}
			for _, method := range []string{"completion", "hover", "references", "documentSymbol", "documentHighlight"} {
				e.call("textDocument/"+method, params, nil)
			}
			_ = e.try("textDocument/rename", params, nil)
		}
		if diff := cmp.Diff(e.want(), e.findings()); diff != "" {
			t.Errorf("findings (-want +got):\n%s\n%s", diff, e.text)
		}
		e.replace(0, len(e.text), text)
		if diff := cmp.Diff(e.want(), e.findings()); diff != "" {
			t.Errorf("findings of the first text (-want +got):\n%s", diff)
		}
	}
}

func isStart(text string, at int) bool {
	return at == len(text) || text[at]&0xc0 != 0x80 && (at == 0 || text[at-1] != '\r')
}

// Every node and state key of every example can be renamed, with the same findings after.
func TestRenameInExamples(t *testing.T) {
	paths, err := filepath.Glob("../../examples/*/flow.yaml")
	if err != nil || len(paths) < 20 {
		t.Fatal(len(paths), err)
	}
	refused := 0
	for i, path := range paths {
		if i%longtest.Choose(3, 1) > 0 {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		e := newEditor(t, whole, string(src))
		g := inspect.Check(whole, src, false)
		rules := func(src string) (out []string) {
			for _, d := range inspect.Check(whole, []byte(src), false).Found {
				out = append(out, d.Rule)
			}
			return out
		}
		before := rules(e.text)
		try := func(kind, name string, at int) {
			params := object{"textDocument": object{"uri": e.uri}, "position": e.position(at), "newName": "renamed_x"}
			if err := e.try("textDocument/rename", params, nil); err != nil && strings.Contains(err.Error(), "output schema") {
				refused++ // a list in writes names members of the output
				return
			}
			got := e.rename(params, "renamed_x")
			if diff := cmp.Diff(before, rules(got)); diff != "" {
				t.Errorf("%s: %s %s (-before +after):\n%s", path, kind, name, diff)
			}
		}
		every := longtest.Choose(9, 3)
		for i, n := range g.Graph.Nodes {
			if i%every > 0 {
				continue
			}
			try("node", n.ID.Value, n.ID.Span.From)
		}
		for i, k := range g.Graph.State {
			if i%every > 0 {
				continue
			}
			try("key", k.Name.Value, k.Name.Span.From)
		}
	}
	if refused > 5 {
		t.Errorf("%d keys can't be renamed", refused)
	}
}
