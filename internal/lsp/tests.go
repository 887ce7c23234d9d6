// Names in test files.

package lsp

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

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
var indexed = regexp.MustCompile(`^\[[^\]]*\]`)

// noteNode notes a scalar that is the node, or continues it: a/b, a[0]/b, ask:key.
func (w *walker) noteNode(n spec.Text, name testName) {
	from, to := contentOf(n)
	rest := w.text.src[from:to]
	for _, outer := range strings.Split(strings.TrimSuffix(name.prefix, "/"), "/") {
		if outer == "" {
			break
		}
		after, ok := strings.CutPrefix(rest, outer)
		after = after[len(indexed.FindString(after)):]
		if rest = strings.TrimPrefix(after, "/"); !ok || rest == after {
			return
		}
	}
	if after, ok := strings.CutPrefix(rest, name.name); ok && (after == "" || strings.ContainsRune("/:[", rune(after[0]))) {
		at := to - len(rest)
		w.add(scope{}, "node", at, at+len(name.name), false, false)
	}
}
