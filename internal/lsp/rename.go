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

func newRefusal(format string, args ...any) error {
	return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// findDeclared returns the document that declares a name, and the use as that document names it.
// The use is nil if no document declares it.
func (s *Server) findDeclared(d *document, u *use) (*document, *use) {
	if u == nil {
		return d, nil
	}
	there := *u
	if u.file != "" {
		d, there.file = s.readDocument(u.file), ""
	}
	if d == nil || d.findDeclaration(&there) == nil {
		return d, nil
	}
	return d, &there
}

// readDocument returns an open file, or else a YAML map on disk. It returns nil for other files.
func (s *Server) readDocument(path string) *document {
	if d := s.open[uriFromPath(path)]; d != nil {
		return d
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	t := newText(string(src))
	if index := indexNames(path, t); index != nil {
		return &document{uri: uriFromPath(path), path: path, text: t, names: index}
	}
	return nil
}

func prepareRename(d *document, p *params) (any, error) {
	u := d.findUse(p.Position)
	if u == nil {
		return nil, nil
	}
	return object{"range": d.text.span(u.from, u.to), "placeholder": u.name}, nil
}

// renameSymbol replaces all uses of a name. It refuses a rename that adds an error to a graph.
func (s *Server) renameSymbol(d *document, p *params) (any, error) {
	d, u := s.findDeclared(d, d.findUse(p.Position))
	if u == nil {
		return nil, newRefusal("nothing to rename at this position")
	}
	pattern := `^[A-Za-z_][A-Za-z0-9_]*$`
	if u.kind != "key" && u.kind != "secret" {
		pattern = `^[A-Za-z][A-Za-z0-9_-]*$`
	}
	if !regexp.MustCompile(pattern).MatchString(p.NewName) {
		return nil, newRefusal("invalid %[2]s name %[1]q", p.NewName, u.kind)
	}
	if d.findDeclaration(&use{kind: u.kind, scope: u.scope, name: p.NewName}) != nil {
		return nil, newRefusal("%s %q already exists", u.kind, p.NewName)
	}
	r := renaming{s: s, files: map[string]*document{d.path: d}, edits: map[string][]fix.Edit{}, use: *u, name: p.NewName}
	for _, o := range d.findUses(u) {
		r.addEdit(d, o.from, o.to)
	}
	r.use.file = d.path
	workspace := s.listWorkspace(d)
	if u.kind == "key" {
		for _, other := range workspace {
			r.addCaller(other)
		}
	}
	graphs := slices.Sorted(maps.Keys(r.files))
	r.addTests(append(workspace, d))
	if err := r.refuseErrors(graphs); err != nil {
		return nil, err
	}
	changes := map[string][]textEdit{}
	for path, edits := range r.edits {
		slices.SortFunc(edits, func(a, b fix.Edit) int { return a.Span.From - b.Span.From })
		d := r.files[path]
		for _, e := range slices.Compact(edits) {
			changes[d.uri] = append(changes[d.uri], textEdit{d.text.span(e.Span.From, e.Span.To), e.Text})
		}
	}
	return object{"changes": changes}, nil
}

type renaming struct {
	s     *Server
	files map[string]*document  // changed files, and files that run the graph
	edits map[string][]fix.Edit // by path
	use   use                   // as other files see it
	name  string
}

func (r *renaming) addEdit(d *document, from, to int) {
	r.files[d.path] = d
	r.edits[d.path] = append(r.edits[d.path], fix.Edit{Span: spec.Span{From: from, To: to}, Text: r.name})
}

// refuseErrors returns an error if the edits add an error to one of the graphs.
func (r *renaming) refuseErrors(graphs []string) error {
	before := r.s.openTexts()
	after := maps.Clone(before)
	for path, d := range r.files {
		before[path], after[path] = d.text.src, string(fix.Apply([]byte(d.text.src), r.edits[path]))
	}
	for _, path := range graphs {
		listErrors := func(texts map[string]string) spec.Diagnostics {
			return inspect.CheckWith(path, []byte(texts[path]), false, loadBeside(path, texts)).Found.Errors()
		}
		if found := listErrors(after); len(found) > len(listErrors(before)) {
			return newRefusal("%q can't be renamed to %q: %s: %s", r.use.name, r.name, filepath.Base(path), found[0].Message)
		}
	}
	return nil
}

// maxFiles limits the search for callers.
const maxFiles = 5000

// listWorkspace returns the other YAML files of the workspace folder that contains d, or else of
// d's own folder.
func (s *Server) listWorkspace(d *document) []*document {
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
		if other := s.readDocument(path); other != nil {
			out = append(out, other)
		}
		return nil
	})
	return out
}

// addCaller adds the edits of a graph that runs the changed graph. It uses a state key in `with`, and
// as a member of the call's output.
func (r *renaming) addCaller(caller *document) {
	if slices.ContainsFunc(caller.names.calls, func(c call) bool { return c.child == r.use.scope }) {
		r.files[caller.path] = caller
	}
	for _, o := range caller.names.uses {
		if o.isSame(&r.use) {
			r.addEdit(caller, o.from, o.to)
		}
	}
}

// addTests adds the edits of scripted answers and of the test files of graphs that run the changed
// graph.
func (r *renaming) addTests(workspace []*document) {
	graphs := map[string]*document{}
	for _, d := range workspace {
		graphs[d.path] = d
	}
	for _, flow := range workspace {
		for _, prefix := range r.findPrefixes(graphs, scope{file: flow.path}, 8) {
			scripts := findScripts(flow)
			for _, test := range workspace {
				doc := readValue(test.path, test.text)
				if doc.Get("graphrun-test").Scalar().Value != "" && findFlow(test.path, doc) == flow.path {
					scripts = append(scripts, findScripts(test)...)
					if r.use.kind == "node" || prefix == "" { // tests name keys and tools of their own flow only
						r.addTest(test, r.use.kind, prefix)
					}
				}
			}
			for _, script := range workspace {
				if r.use.kind == "node" && slices.Contains(scripts, script.path) {
					r.addTest(script, "node", prefix)
				}
			}
		}
	}
}

// findPrefixes returns the paths of nodes, such as "outer/inner/", by which a graph runs the
// changed graph. The path of the changed graph itself is "".
func (r *renaming) findPrefixes(graphs map[string]*document, from scope, depth int) (out []string) {
	if from == r.use.scope {
		out = append(out, "")
	}
	d := graphs[from.file]
	if d == nil || depth == 0 {
		return out
	}
	for _, c := range d.names.calls {
		if c.graph != from.graph {
			continue
		}
		if c.child.file == "" {
			c.child.file = from.file
		}
		for _, prefix := range r.findPrefixes(graphs, c.child, depth-1) {
			out = append(out, c.node+"/"+prefix)
		}
	}
	return out
}

// addTest adds the edits of a test file or of scripted answers.
func (r *renaming) addTest(d *document, kind, prefix string) {
	w := newWalker(d.path, d.text)
	w.walkTest(readValue(d.path, d.text), "", testName{kind, prefix, r.use.name})
	for _, u := range w.out.uses {
		r.addEdit(d, u.from, u.to)
	}
}

var scripted = lazyregexp.New(`(?m)(?:scripted/|models: *)["']?([\w./-]+\.ya?ml)`)

// findScripts returns the files of scripted answers that a graph or test file names.
func findScripts(d *document) (out []string) {
	for _, m := range scripted.Get().FindAllStringSubmatch(d.text.src, -1) {
		out = append(out, spec.ResolvePath(d.path, m[1]))
	}
	return out
}

// findFlow returns the path of the flow that a test file tests. The key `flow` names it; without
// it, x.test.yaml tests x.yaml.
func findFlow(test string, doc *spec.Value) string {
	if named := doc.Get("flow").Scalar().Value; named != "" {
		return spec.ResolvePath(test, named)
	}
	extension := filepath.Ext(test)
	return strings.TrimSuffix(test, ".test"+extension) + extension
}

// testName is a name to look for in a test file.
type testName struct {
	kind   string // node, key, tool
	prefix string // of a node in a subgraph: "outer/inner/"
	name   string
}

// Keys of test files: maps by node, maps by state key, and keys whose values are nodes.
var (
	nodeMaps   = []string{"stubs", "answers", "decide", "visits", "outputs", "nodes"}
	stateMaps  = []string{"input", "state", "state_exactly"}
	nodeValues = []string{"path", "exactly", "starts", "ends", "contains", "order", "never", "node", "from", "to", "after", "pause_before", "pause_after", "target"}
)

// walkTest records the uses of a name in a test file below a key.
func (w *walker) walkTest(v *spec.Value, key string, name testName) {
	for _, f := range v.Fields {
		below := f.Key.Value
		switch {
		case slices.Contains(nodeMaps, key):
			w.addMatch(f.Key, name, "node")
			below = map[string]string{"decide": "to", "stubs": "stub"}[key] // the values of decide are nodes, too
		case key == "stub" && below == "output": // a value, which may have any keys
			continue
		case slices.Contains(stateMaps, key):
			w.addMatch(f.Key, name, "key")
			continue
		case key == "tools" && name.kind == "tool":
			w.addMatch(f.Key, name, "tool")
			continue
		}
		w.walkTest(&f.Value, below, name)
	}
	for i := range v.Items {
		w.walkTest(&v.Items[i], key, name)
	}
	switch {
	case !v.IsScalar():
	case slices.Contains(nodeValues, key):
		w.addMatch(v.Text, name, "node")
	case name.prefix != "":
	case key == "fired" || key == "not_fired": // "a -> b"
		w.addMatch(v.Text, name, "node")
	case key == "where" || key == "expr":
		before := len(w.out.uses)
		w.walkExpression(v.Text)
		kept := slices.DeleteFunc(w.out.uses[before:], func(u use) bool { return u.kind != name.kind || u.name != name.name })
		w.out.uses = w.out.uses[:before+len(kept)]
	}
}

// addMatch records the uses of a name of a kind in a scalar: a node also in the paths a/b and
// a[0]/b, in ask:key and in the edge "a -> b"; a tool also in server.tool.
func (w *walker) addMatch(n spec.Text, name testName, kind string) {
	if kind != name.kind {
		return
	}
	pattern := `(?:^|> *)`
	for _, outer := range strings.FieldsFunc(name.prefix, func(r rune) bool { return r == '/' }) {
		pattern += regexp.QuoteMeta(outer) + `(?:\[[^\]]*\])?/`
	}
	after := map[string]string{"node": `(?:$|[/:[ ])`, "key": `$`, "tool": `(?:$|\.)`}[kind]
	from, to := findContent(n)
	for _, m := range regexp.MustCompile(pattern+"("+regexp.QuoteMeta(name.name)+")"+after).FindAllStringSubmatchIndex(w.src[from:to], -1) {
		w.addUse(use{kind: kind}, from+m[2], from+m[3])
	}
}
