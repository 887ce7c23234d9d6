// Renaming of nodes in the test files of a flow.

package lsp

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// testEdits returns the edits that rename a node in the test files beside a flow.
func (s *Server) testEdits(d *document, old, name string) map[string][]textEdit {
	out := map[string][]textEdit{}
	beside, err := filepath.Glob(filepath.Join(filepath.Dir(d.path), "*.test.y*ml"))
	if err != nil {
		return out
	}
	for _, path := range beside {
		t := s.textOf(path)
		var doc yaml.Node
		if t == nil || yaml.Unmarshal([]byte(t.src), &doc) != nil || len(doc.Content) == 0 || !isTestOf(path, doc.Content[0], d.path) {
			continue
		}
		w := &walker{text: t, out: &names{}}
		w.collectStarts(&doc)
		slices.Sort(w.starts)
		w.nodeNames(doc.Content[0], "", old)
		for _, u := range w.out.uses {
			out[uriOf(path)] = append(out[uriOf(path)], textEdit{t.span(u.from, u.to), name})
		}
	}
	return out
}

// textOf returns the text of a file: the editor's if the file is open there, else that on
// disk. It returns nil if the file can't be read.
func (s *Server) textOf(path string) *text {
	if d := s.open[uriOf(path)]; d != nil {
		return d.text
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return newText(string(src))
}

// isTestOf reports whether a test file tests a flow. Its `flow` names the flow; without
// `flow`, x.test.yaml tests x.yaml.
func isTestOf(path string, doc *yaml.Node, flow string) bool {
	if named := valueOf(doc, "flow"); named != "" {
		return filepath.Join(filepath.Dir(path), filepath.FromSlash(named)) == filepath.Clean(flow)
	}
	stem := func(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) }
	return strings.TrimSuffix(stem(path), ".test") == stem(filepath.Clean(flow))
}

// nodeNames notes where a node is named below a key of a test file: as a key of stubs,
// answers, decide, visits and outputs, and as a text in paths.
func (w *walker) nodeNames(v *yaml.Node, key, old string) {
	byNode := []string{"stubs", "answers", "decide", "visits", "outputs", "nodes"}
	inPath := []string{"path", "exactly", "starts", "ends", "contains", "order", "never", "node", "from", "to", "after"}
	switch v.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(v.Content); i += 2 {
			if slices.Contains(byNode, key) {
				w.noteNode(v.Content[i], old)
				below := ""
				if key == "decide" { // whose values are nodes, too
					below = "to"
				}
				w.nodeNames(v.Content[i+1], below, old)
			} else {
				w.nodeNames(v.Content[i+1], v.Content[i].Value, old)
			}
		}
	case yaml.SequenceNode:
		for _, item := range v.Content {
			w.nodeNames(item, key, old)
		}
	case yaml.ScalarNode:
		switch {
		case slices.Contains(inPath, key):
			w.noteNode(v, old)
		case key == "fired" || key == "not_fired":
			w.noteEdge(v, old)
		case key == "where" || key == "expr":
			before := len(w.out.uses)
			w.expression(v)
			kept := slices.DeleteFunc(w.out.uses[before:], func(u use) bool { return u.kind != "node" || u.name != old })
			w.out.uses = w.out.uses[:before+len(kept)]
		}
	}
}

// noteEdge notes the ends of an edge that are the node: "a -> b".
func (w *walker) noteEdge(n *yaml.Node, old string) {
	from, to := w.textOf(n)
	for _, end := range regexp.MustCompile(`[^\s>]+`).FindAllStringIndex(w.text.src[from:to], -1) {
		if w.text.src[from+end[0]:from+end[1]] == old {
			w.out.uses = append(w.out.uses, use{kind: "node", name: old, from: from + end[0], to: from + end[1]})
		}
	}
}

// noteNode notes a scalar that is the node, or begins with it: a/b, a[0]/b, ask:key.
func (w *walker) noteNode(n *yaml.Node, old string) {
	from, to := w.textOf(n)
	if first := strings.FieldsFunc(n.Value, func(r rune) bool { return strings.ContainsRune("/:[", r) }); len(first) > 0 && first[0] == old && strings.HasPrefix(w.text.src[from:to], old) {
		w.out.uses = append(w.out.uses, use{kind: "node", name: old, from: from, to: from + len(old)})
	}
}
