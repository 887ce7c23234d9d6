// Renaming: in the file, in graphs that run it, in test files and scripted answers.

package lsp

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/graphrun/graphrun/internal/fix"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/spec"
)

func refuse(format string, args ...any) error {
	return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// declared returns the document that declares a name, and the use as it reads there; a nil
// use if it finds none.
func (s *Server) declared(d *document, u *use) (*document, *use) {
	if u == nil {
		return d, nil
	}
	there := *u
	if u.file != "" {
		if d = s.document(u.file); d == nil {
			return nil, nil
		}
		there.file = ""
	}
	if d.declaration(&there) == nil {
		return d, nil
	}
	return d, &there
}

// document returns a graph or test file that is open or on disk, or nil if it is not YAML.
func (s *Server) document(path string) *document {
	uri := uriOf(path)
	d := s.open[uri]
	if d == nil {
		src, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		d = &document{uri: uri, path: path, text: newText(string(src))}
		d.names = namesOf(path, d.text)
	}
	if d.names == nil {
		return nil
	}
	return d
}

// rename replaces all uses of a name. It refuses a rename that adds an error to a graph.
func (s *Server) rename(d *document, p *params) (any, error) {
	d, u := s.declared(d, d.useAt(p.Position))
	if u == nil {
		return nil, refuse("nothing to rename at this position")
	}
	pattern := `^[A-Za-z_][A-Za-z0-9_]*$`
	if u.kind != "key" && u.kind != "secret" {
		pattern = `^[A-Za-z][A-Za-z0-9_-]*$`
	}
	if !regexp.MustCompile(pattern).MatchString(p.NewName) {
		return nil, refuse("invalid %[2]s name %[1]q", p.NewName, u.kind)
	}
	if d.declaration(&use{kind: u.kind, scope: u.scope, name: p.NewName}) != nil {
		return nil, refuse("%s %q already exists", u.kind, p.NewName)
	}
	r := renaming{s: s, files: map[string]*document{d.path: d}, edits: map[string][]fix.Edit{}, use: *u, name: p.NewName}
	for _, o := range d.usesOf(u) {
		r.add(d, o.from, o.to)
	}
	workspace := s.workspace(d)
	if u.kind == "key" {
		for _, other := range workspace {
			r.addCaller(d, other)
		}
	}
	graphs := slices.Sorted(maps.Keys(r.files))
	r.addTests(d, workspace)
	for _, path := range graphs {
		if err := r.check(path); err != nil {
			return nil, err
		}
	}
	return workspaceEdit{Changes: r.changes()}, nil
}

// renaming collects the edits of a rename.
type renaming struct {
	s     *Server
	files map[string]*document
	edits map[string][]fix.Edit // by path
	use   use
	name  string
}

func (r *renaming) add(d *document, from, to int) {
	r.files[d.path] = d
	r.edits[d.path] = append(r.edits[d.path], fix.Edit{Span: spec.Span{From: from, To: to}, Text: r.name})
}

func (r *renaming) changes() map[string][]textEdit {
	out := map[string][]textEdit{}
	for path, edits := range r.edits {
		slices.SortFunc(edits, func(a, b fix.Edit) int { return a.Span.From - b.Span.From })
		d := r.files[path]
		for _, e := range slices.Compact(edits) {
			out[d.uri] = append(out[d.uri], textEdit{d.text.span(e.Span.From, e.Span.To), e.Text})
		}
	}
	return out
}

// check refuses the edits if a graph has more errors with them.
func (r *renaming) check(path string) error {
	edited := func(path string) string {
		return string(fix.Apply([]byte(r.files[path].text.src), r.edits[path]))
	}
	disk := spec.Beside(path)
	load := func(with bool) func(name string) ([]byte, error) {
		return func(name string) ([]byte, error) {
			whole := filepath.Join(filepath.Dir(path), filepath.FromSlash(name))
			switch {
			case with && r.files[whole] != nil:
				return []byte(edited(whole)), nil
			case r.s.open[uriOf(whole)] != nil:
				return []byte(r.s.open[uriOf(whole)].text.src), nil
			}
			return disk(name)
		}
	}
	before := inspect.SelectErrors(inspect.CheckWith(path, []byte(r.files[path].text.src), false, load(false)).Found)
	after := inspect.SelectErrors(inspect.CheckWith(path, []byte(edited(path)), false, load(true)).Found)
	if len(after) > len(before) {
		return refuse("%q can't be renamed to %q: %s: %s", r.use.name, r.name, filepath.Base(path), after[0].Message)
	}
	return nil
}

// maxFiles limits the search for callers.
const maxFiles = 5000

// workspace returns the YAML files of the workspace's folders, without d: those of d's
// folder if the editor names no folder that contains it.
func (s *Server) workspace(d *document) []*document {
	folder := filepath.Dir(d.path)
	for _, f := range s.folders {
		if relative, err := filepath.Rel(f, d.path); err == nil && filepath.IsLocal(relative) {
			folder = f
		}
	}
	var out []*document
	seen := 0
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		seen++
		switch {
		case err != nil, seen > maxFiles:
			return filepath.SkipDir
		case e.IsDir() && path != folder && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules"):
			return filepath.SkipDir
		case e.IsDir() || path == d.path || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)):
			return nil
		}
		if other := s.document(path); other != nil {
			out = append(out, other)
		}
		return nil
	})
	return out
}

// addCaller renames a state key in a graph that runs its graph: in `with`, and as a member of
// the call's output.
func (r *renaming) addCaller(d, caller *document) {
	u := r.use
	u.file = d.path
	if slices.ContainsFunc(caller.names.calls, func(c call) bool { return c.child == u.scope }) {
		r.files[caller.path] = caller
	}
	for _, o := range caller.names.uses {
		if o.same(&u) {
			r.add(caller, o.from, o.to)
		}
	}
}

// addTests renames in test files of the graph and of graphs that run it, and in scripted
// answers of models.
func (r *renaming) addTests(d *document, workspace []*document) {
	graphs := append([]*document{d}, workspace...)
	type place struct {
		scope
		prefix string // of the nodes in tests: "outer/inner/"
	}
	places := []place{{scope{d.path, r.use.graph}, ""}}
	for i := 0; i < len(places) && i < 100; i++ {
		at := places[i]
		for _, caller := range graphs {
			for _, c := range caller.names.calls {
				child := c.child
				if child.file == "" {
					child.file = caller.path
				}
				if child == at.scope && strings.Count(at.prefix, "/") < 8 {
					places = append(places, place{scope{caller.path, c.graph}, c.node + "/" + at.prefix})
				}
			}
		}
		if at.graph != "" {
			continue
		}
		answers := map[string]bool{}
		if flow := r.s.document(at.file); flow != nil {
			scriptsOf(flow, answers)
		}
		for _, test := range workspace {
			if isTestOf(test, at.file) {
				r.addTest(test, at.prefix)
				scriptsOf(test, answers)
			}
		}
		for _, script := range workspace {
			if answers[script.path] && r.use.kind == "node" {
				r.addUses(script, testName{kind: "node", prefix: at.prefix, name: r.use.name})
			}
		}
	}
}

// addUses renames in a test file or a script.
func (r *renaming) addUses(d *document, name testName) {
	w := newWalker(d.text)
	w.nodeNames(valueIn(d.path, d.text), "", name)
	for _, u := range w.out.uses {
		r.add(d, u.from, u.to)
	}
}

var scripted = lazyregexp.New(`(?m)(?:scripted/|models: *)["']?([\w./-]+\.ya?ml)`)

// scriptsOf adds the files of scripted answers that a graph or test file names.
func scriptsOf(d *document, out map[string]bool) {
	for _, m := range scripted().FindAllStringSubmatch(d.text.src, -1) {
		out[filepath.Join(filepath.Dir(d.path), filepath.FromSlash(m[1]))] = true
	}
}

// isTestOf reports whether a file tests a flow. Its `flow` names the flow; without `flow`,
// x.test.yaml tests x.yaml.
func isTestOf(test *document, flow string) bool {
	doc := valueIn(test.path, test.text)
	if textAt(doc, "graphrun-test") == "" {
		return false
	}
	if named := textAt(doc, "flow"); named != "" {
		return filepath.Join(filepath.Dir(test.path), filepath.FromSlash(named)) == filepath.Clean(flow)
	}
	stem := func(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) }
	return strings.TrimSuffix(stem(test.path), ".test") == stem(filepath.Clean(flow))
}

// addTest renames in a test file.
func (r *renaming) addTest(test *document, prefix string) {
	kind := r.use.kind
	if kind != "node" && prefix != "" {
		return // tests know keys and tools of their own flow only
	}
	r.addUses(test, testName{kind: kind, prefix: prefix, name: r.use.name})
}

// testName is a name to look for in a test file.
type testName struct {
	kind   string // node, key, tool
	prefix string // of a node in a subgraph: "outer/inner/"
	name   string
}

// nodeNames finds a name below a key of a test file: a node as a key of stubs, answers, decide,
// visits and outputs and in paths; a state key in input and state; a tool in tools; all of them
// in expressions.
func (w *walker) nodeNames(v *spec.Value, key string, name testName) {
	byNode := []string{"stubs", "answers", "decide", "visits", "outputs", "nodes"}
	inPath := []string{"path", "exactly", "starts", "ends", "contains", "order", "never", "node", "from", "to", "after", "pause_before", "pause_after", "target"}
	byKey := []string{"input", "state", "state_exactly"}
	for i := range v.Fields {
		f := &v.Fields[i]
		below := f.Key.Value
		switch {
		case slices.Contains(byNode, key):
			if name.kind == "node" {
				w.noteNode(f.Key, name)
			}
			below = map[string]string{"decide": "to", "stubs": "stub"}[key] // the values of decide are nodes, too
		case key == "stub" && below == "output": // a value, which may have any keys
			continue
		case slices.Contains(byKey, key):
			if name.kind == "key" && below == name.name {
				w.note("key", f.Key, false, false)
			}
			continue
		case key == "tools" && name.kind == "tool":
			w.noteTool(f.Key, name.name)
			continue
		}
		w.nodeNames(&f.Value, below, name)
	}
	for i := range v.Items {
		w.nodeNames(&v.Items[i], key, name)
	}
	switch {
	case !v.IsScalar():
	case slices.Contains(inPath, key) && name.kind == "node":
		w.noteNode(v.Text, name)
	case (key == "fired" || key == "not_fired") && name.kind == "node" && name.prefix == "":
		w.noteEdge(v.Text, name.name)
	case (key == "where" || key == "expr") && name.prefix == "":
		before := len(w.out.uses)
		w.expression(v.Text)
		kept := slices.DeleteFunc(w.out.uses[before:], func(u use) bool { return u.kind != name.kind || u.name != name.name })
		w.out.uses = w.out.uses[:before+len(kept)]
	}
}

// noteEdge notes the ends of an edge that are the node: "a -> b".
func (w *walker) noteEdge(n spec.Text, node string) {
	from, to := contentOf(n)
	for _, end := range regexp.MustCompile(`[^\s>]+`).FindAllStringIndex(w.text.src[from:to], -1) {
		if w.text.src[from+end[0]:from+end[1]] == node {
			w.add(scope{}, "node", from+end[0], from+end[1], false, false)
		}
	}
}

// noteTool notes a tool, or the server in "server.tool".
func (w *walker) noteTool(n spec.Text, tool string) {
	from, to := contentOf(n)
	if rest, ok := strings.CutPrefix(w.text.src[from:to], tool); ok && (rest == "" || rest[0] == '.') {
		w.add(scope{}, "tool", from, from+len(tool), false, false)
	}
}

// indexed matches the brackets of an element: a[0]/b.
var indexed = lazyregexp.New(`^\[[^\]]*\]`)

// noteNode notes a scalar that is the node, or continues it: a/b, a[0]/b, ask:key.
func (w *walker) noteNode(n spec.Text, name testName) {
	from, to := contentOf(n)
	rest := w.text.src[from:to]
	for _, outer := range strings.Split(strings.TrimSuffix(name.prefix, "/"), "/") {
		if outer == "" {
			break
		}
		after, ok := strings.CutPrefix(rest, outer)
		after = after[len(indexed().FindString(after)):]
		if rest = strings.TrimPrefix(after, "/"); !ok || rest == after {
			return
		}
	}
	if after, ok := strings.CutPrefix(rest, name.name); ok && (after == "" || strings.ContainsRune("/:[", rune(after[0]))) {
		at := to - len(rest)
		w.add(scope{}, "node", at, at+len(name.name), false, false)
	}
}
