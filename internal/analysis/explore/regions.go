// Regions: values that conditions tell apart, where they only compare with constants.

package explore

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
)

// keyRegions returns test values for a state key: conditions compare the key with constants,
// and every range between such constants gives one value. It returns false if an expression does more than compare the key with constants,
// or if the schema has other limits than minimum and maximum.
func (m *Model) keyRegions(name string, docs ...map[string]any) ([]any, bool) {
	key := m.graph.Key(name)
	if !dataflow.Replaces(key) {
		return nil, false
	}
	var consts []any
	for i := range m.all {
		e := &m.all[i]
		if e.Node < 0 || e.Program == nil || !m.decides(e) && !m.counts[m.target(e)] {
			continue
		}
		reads := slices.ContainsFunc(e.Program.Reads(), func(r eval.Read) bool { return r.Path[0] == name })
		tree := understood(e.Program)
		if reads && (tree == nil || !comparesOnly(tree, name, &consts)) {
			return nil, false
		}
	}
	return regionValues(append(docs, key.Schema), consts)
}

// partRegions is keyRegions for a part of a node's result that keys take as it is.
func (m *Model) partRegions(v int, p *part, own map[string]any) ([]any, bool) {
	if len(p.keys) != 1 || len(p.into) > 0 || m.graph.Nodes[v].Each.IsSet() {
		return nil, false
	}
	for _, e := range m.own[v] {
		if e.Field == "writes" && e.Program.Tree().Op == eval.TreePath {
			continue
		}
		if slices.ContainsFunc(e.Program.Reads(), func(r eval.Read) bool { return r.Path[0] == "output" }) {
			return nil, false
		}
	}
	if own == nil {
		return m.keyRegions(p.keys[0])
	}
	return m.keyRegions(p.keys[0], own)
}

// comparesOnly reports whether an expression reads a key only to compare it with
// constants, and collects these.
func comparesOnly(t *eval.Tree, name string, consts *[]any) bool {
	if t.Op == eval.TreePath {
		return t.Path[0] != name
	}
	if t.Op == eval.TreeBinary && len(t.Args) == 2 && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">=", "in"}, t.Name) {
		for i, side := range t.Args {
			other := t.Args[1-i]
			if !isKey(side, name) || t.Name == "in" && i == 1 {
				continue
			}
			values := []*eval.Tree{other}
			if list, ok := other.Value.([]any); ok && t.Name == "in" {
				*consts = append(*consts, list...)
				return true
			}
			if t.Name == "in" {
				values = other.Args
			}
			if len(values) == 0 || slices.ContainsFunc(values, func(c *eval.Tree) bool { return c.Op != eval.TreeConst }) {
				return false
			}
			for _, c := range values {
				*consts = append(*consts, c.Value)
			}
			return true
		}
	}
	return !slices.ContainsFunc(t.Args, func(a *eval.Tree) bool { return !comparesOnly(a, name, consts) })
}

// isKey reports whether an expression is a key, or a key with a constant for null.
func isKey(t *eval.Tree, name string) bool {
	if t.Op == eval.TreeBinary && t.Name == "??" && t.Args[1].Op == eval.TreeConst {
		t = t.Args[0]
	}
	return t.Op == eval.TreePath && len(t.Path) == 1 && t.Path[0] == name
}

// regionValues returns one value of every region between constants that schemas allow.
func regionValues(docs []map[string]any, consts []any) ([]any, bool) {
	kind, ok := docs[0]["type"].(string)
	if !ok {
		return nil, false
	}
	var out []any
	var numbers []float64
	for _, doc := range docs {
		for word := range doc { //lint:ignore mapiter any will do
			if !slices.Contains([]string{"type", "minimum", "maximum", "title", "description", "default", "examples"}, word) {
				return nil, false
			}
		}
		if own, _ := doc["type"].(string); own != kind {
			return nil, false
		}
		for _, word := range []string{"minimum", "maximum"} {
			if n, ok := eval.Number(doc[word]); ok {
				numbers = append(numbers, n)
			}
		}
	}
	for _, c := range consts {
		switch n, isNumber := eval.Number(c); {
		case c == nil:
		case kind == "string":
			out = append(out, c)
		case isNumber:
			numbers = append(numbers, n)
		}
	}
	switch kind {
	case "string":
		return append(out, "other"), !slices.Contains(out, any("other"))
	case "integer":
		for _, n := range append(numbers, 0) {
			if n != float64(int(n)) {
				return nil, false
			}
			out = append(out, int(n), int(n)+1, int(n)-1)
		}
	case "number":
		numbers = append(numbers, 0)
		slices.Sort(numbers)
		out = append(out, numbers[0]-1, numbers[len(numbers)-1]+1)
		for i, n := range numbers {
			out = append(out, n)
			if i > 0 {
				out = append(out, (n+numbers[i-1])/2)
			}
		}
	default:
		return nil, false
	}
	return out, len(consts)*3 < maxOptions
}
