// Names in test files.

package lsp

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// isTestOf reports whether a file tests a flow. Its `flow` names the flow; without `flow`,
// x.test.yaml tests x.yaml.
func isTestOf(test *document, flow string) bool {
	_, doc := walkerOf(test)
	if valueOf(doc, "graphrun-test") == "" {
		return false
	}
	if named := valueOf(doc, "flow"); named != "" {
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
	w, doc := walkerOf(test)
	w.nodeNames(doc, "", testName{kind: kind, prefix: prefix, name: r.use.name})
	r.addUses(test, w)
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
func (w *walker) nodeNames(v *yaml.Node, key string, name testName) {
	byNode := []string{"stubs", "answers", "decide", "visits", "outputs", "nodes"}
	inPath := []string{"path", "exactly", "starts", "ends", "contains", "order", "never", "node", "from", "to", "after", "pause_before", "pause_after", "target"}
	byKey := []string{"input", "state", "state_exactly"}
	switch v.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(v.Content); i += 2 {
			below := v.Content[i].Value
			switch {
			case slices.Contains(byNode, key):
				if name.kind == "node" {
					w.noteNode(v.Content[i], name)
				}
				below = ""
				if key == "decide" { // whose values are nodes, too
					below = "to"
				}
				if key == "stubs" {
					below = "stub"
				}
			case key == "stub" && below == "output": // a value, which may have any keys
				continue
			case slices.Contains(byKey, key):
				if name.kind == "key" && v.Content[i].Value == name.name {
					w.note("key", v.Content[i], false, false)
				}
				continue
			case key == "tools" && name.kind == "tool":
				w.noteTool(v.Content[i], name.name)
				continue
			}
			w.nodeNames(v.Content[i+1], below, name)
		}
	case yaml.SequenceNode:
		for _, item := range v.Content {
			w.nodeNames(item, key, name)
		}
	case yaml.ScalarNode:
		switch {
		case slices.Contains(inPath, key) && name.kind == "node":
			w.noteNode(v, name)
		case (key == "fired" || key == "not_fired") && name.kind == "node" && name.prefix == "":
			w.noteEdge(v, name.name)
		case (key == "where" || key == "expr") && name.prefix == "":
			before := len(w.out.uses)
			w.expression(v)
			kept := slices.DeleteFunc(w.out.uses[before:], func(u use) bool { return u.kind != name.kind || u.name != name.name })
			w.out.uses = w.out.uses[:before+len(kept)]
		}
	}
}

// noteEdge notes the ends of an edge that are the node: "a -> b".
func (w *walker) noteEdge(n *yaml.Node, node string) {
	from, to := w.textOf(n)
	for _, end := range regexp.MustCompile(`[^\s>]+`).FindAllStringIndex(w.text.src[from:to], -1) {
		if w.text.src[from+end[0]:from+end[1]] == node {
			w.out.uses = append(w.out.uses, use{kind: "node", name: node, from: from + end[0], to: from + end[1]})
		}
	}
}

// noteTool notes a tool, or the server in "server.tool".
func (w *walker) noteTool(n *yaml.Node, tool string) {
	from, to := w.textOf(n)
	if rest, ok := strings.CutPrefix(w.text.src[from:to], tool); ok && (rest == "" || rest[0] == '.') {
		w.out.uses = append(w.out.uses, use{kind: "tool", name: tool, from: from, to: from + len(tool)})
	}
}

// indexed matches the brackets of an element: a[0]/b.
var indexed = regexp.MustCompile(`^\[[^\]]*\]`)

// noteNode notes a scalar that is the node, or continues it: a/b, a[0]/b, ask:key.
func (w *walker) noteNode(n *yaml.Node, name testName) {
	from, to := w.textOf(n)
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
		w.out.uses = append(w.out.uses, use{kind: "node", name: name.name, from: at, to: at + len(name.name)})
	}
}
