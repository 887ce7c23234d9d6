// What each node writes of the state, and what an expression reads of it.

package dataflow

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Write is a state key that a node writes.
type Write struct {
	Key  int // index in Graph.State
	Name spec.Text
	// Value is the expression that is written, or nil for the node's output.
	Value *eval.Program
}

// Access lists what a node reads and writes of the state.
type Access struct {
	Writes []Write // in the order of the file
	// Always are the writes of every success.
	Always []Write
	// SeesAll says that the node gets the whole state without naming keys.
	SeesAll bool
}

// Accesses returns the accesses of each node of a graph.
func Accesses(g *spec.Graph, bound *bind.Graph) []Access {
	keys := make(map[string]int, len(g.State))
	for i, key := range g.State {
		keys[key.Name.Value] = i
	}
	out := make([]Access, len(g.Nodes))
	for i, n := range g.Nodes {
		out[i] = accessOf(n, &bound.Nodes[i], keys)
	}
	return out
}

func accessOf(n *spec.Node, b *bind.Node, keys map[string]int) Access {
	a := Access{SeesAll: !n.HasReads && GivenState(n)}
	add := func(name spec.Text, value *eval.Program) {
		if key, ok := keys[name.Value]; ok {
			a.Writes = append(a.Writes, Write{key, name, value})
		}
	}
	if set := n.Field("set"); set != nil && n.Kind.Value == "set" {
		for j := range set.Fields {
			add(set.Fields[j].Key, programAt(b.Set, j))
		}
	}
	for _, name := range n.Writes.Keys {
		add(name, nil)
	}
	for j, e := range n.Writes.Exprs {
		add(e.Name, programAt(b.Writes, j))
	}
	if a.Always = a.Writes; n.Each.IsSet() && n.Kind.Value == "set" {
		a.Always = nil // nothing is written for an empty list
	}
	return a
}

// programAt returns the expression of a field, or nil if it did not compile.
func programAt(fields []bind.Field, i int) *eval.Program {
	if i >= len(fields) {
		return nil
	}
	return fields[i].Value.Program()
}

// GivenState reports whether a kind hands the state to what it runs.
func GivenState(n *spec.Node) bool {
	switch n.Kind.Value {
	case "exec":
		return n.Field("stdin") == nil
	case "agent", "fail", "graph", "http", "human", "llm", "pass", "set", "tool", "tools", "wait":
		return false
	}
	return true // a kind of a program's own
}

// Replaces reports whether a write to a key drops the value before it. An undeclared key is
// nil.
func Replaces(key *spec.StateKey) bool {
	return key == nil || !key.Reducer.IsSet() || key.Reducer.Value == "replace"
}

// ReadsKey reports whether the program may read the declared state key.
func ReadsKey(p *eval.Program, name string) bool {
	return slices.ContainsFunc(p.Reads(), func(r eval.Read) bool { return r.Path[0] == name })
}

// FirmReads lists the paths of which a program needs a value. Paths under ?? or compared with
// None are left out, and all of a program that reads how far the run is: it may know that
// the value is there.
func FirmReads(p *eval.Program) []eval.Read {
	if strings.Contains(p.Source(), "?.") || AsksProgress(p) {
		return nil
	}
	w := firmWalk{firm: map[string]bool{}, soft: map[string]bool{}}
	w.walk(p.Tree(), nil)
	var out []eval.Read
	for _, r := range p.Reads() {
		name := strings.Join(r.Path, ".")
		if w.firm[name] || !w.soft[name] {
			out = append(out, r)
		}
	}
	return out
}

// AsksProgress reports whether a program reads how far the run is.
func AsksProgress(p *eval.Program) bool {
	return slices.ContainsFunc(p.Reads(), func(r eval.Read) bool {
		switch r.Path[0] {
		case "visits", "history", "step", "visit", "outcome", "error":
			return true
		case "nodes":
			return len(r.Path) > 2 && r.Path[2] == "visits"
		}
		return false
	})
}

// firmWalk sorts the paths of a tree into those that must not be missing and those that may.
type firmWalk struct{ firm, soft map[string]bool }

func (w *firmWalk) walk(t *eval.Tree, known []string) {
	switch {
	case t.Op == eval.TreePath:
		w.path(t, slices.Contains(known, t.Path[0]))
	case t.Op == eval.TreeBinary && t.Name == "??":
		w.leaf(t.Args[0], known)
		w.walk(t.Args[1], known)
	case t.Op == eval.TreeBinary && (t.Name == "==" || t.Name == "!=") && (IsNull(t.Args[0]) || IsNull(t.Args[1])):
		w.leaf(t.Args[0], known)
		w.leaf(t.Args[1], known)
	case t.Op == eval.TreeBinary && (t.Name == "and" || t.Name == "or"):
		w.walk(t.Args[0], known)
		w.walk(t.Args[1], append(known[:len(known):len(known)], present(t.Args[0], t.Name == "and")...))
	case t.Op == eval.TreeChoice:
		w.walk(t.Args[0], known)
		w.walk(t.Args[1], append(known[:len(known):len(known)], present(t.Args[0], true)...))
		w.walk(t.Args[2], append(known[:len(known):len(known)], present(t.Args[0], false)...))
	default:
		for _, a := range t.Args {
			w.walk(a, known)
		}
	}
}

// leaf visits a part that may be null. Inside a computed part the rules stay.
func (w *firmWalk) leaf(t *eval.Tree, known []string) {
	if t.Op == eval.TreePath {
		w.path(t, true)
		return
	}
	w.walk(t, known)
}

func (w *firmWalk) path(t *eval.Tree, soft bool) {
	path := t.Path
	for i, part := range path {
		if strings.HasPrefix(part, "[") { // an element reads its list
			path = path[:i]
			break
		}
	}
	name := strings.Join(path, ".")
	if soft {
		w.soft[name] = true
	} else {
		w.firm[name] = true
	}
}

// IsNull reports whether a tree is the constant null.
func IsNull(t *eval.Tree) bool { return t.Op == eval.TreeConst && t.Value == nil }

// present lists the top-level names that have a value if a test has the given outcome.
func present(t *eval.Tree, outcome bool) (names []string) {
	t.Implied(outcome, func(t *eval.Tree, holds bool) {
		for i := 0; i < 2 && t.Op == eval.TreeBinary && (t.Name == "!=" && holds || t.Name == "==" && !holds); i++ {
			if IsNull(t.Args[i]) && t.Args[1-i].Op == eval.TreePath {
				names = append(names, t.Args[1-i].Path[0])
			}
		}
	})
	return names
}
