// Progress on cycles: visits, steps and state keys that only grow or only shrink.

package lint

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
)

// progress is a number that moves in one direction on the cycles of a way.
type progress struct {
	up   bool
	made func(a cycleArc) bool // on which ways it has changed
}

func number(t *eval.Tree) (float64, bool) {
	if t.Op == eval.TreeUnary && t.Name == "-" {
		n, ok := number(t.Args[0])
		return -n, ok
	}
	switch n := t.Value.(type) {
	case int:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// progressOf returns the progress of one side of a comparison towards the other, or nil.
func (r *cycles) progressOf(t, with *eval.Tree, a cycleArc) *progress {
	length := t.Op == eval.TreeCall && t.Name == "len" && len(t.Args) == 1
	if length {
		t = t.Args[0]
	}
	if t.Op != eval.TreePath {
		return nil
	}
	path := t.Path
	switch {
	case length && len(path) == 2 && path[0] == "history", !length && len(path) == 2 && path[0] == "visits":
		return r.visitsOf(path[1], length, with, a)
	case !length && len(path) == 3 && path[0] == "nodes" && path[2] == "visits":
		return r.visitsOf(path[1], false, with, a)
	case !length && len(path) == 1 && path[0] == "step":
		return &progress{true, func(a cycleArc) bool { return r.isCounted(a) || r.f.graph.Nodes[a.from].OnMaxVisits == "skip" }}
	case len(path) == 1:
		if key, declared := r.f.keyOf[path[0]]; declared {
			return r.keyProgress(key, length, a)
		}
	}
	return nil
}

// visitsOf counts the visits of a node of the same cycles, or those that succeeded.
func (r *cycles) visitsOf(name string, succeeded bool, with *eval.Tree, a cycleArc) *progress {
	n := r.f.graph.Node(name)
	if n == nil || r.of[n.Index] != r.of[a.from] {
		return nil
	}
	most := r.limit[n.Index]
	if bound, ok := number(with); most > 0 && (!ok || bound > float64(most)) {
		return nil // the visits stop at their limit
	}
	return &progress{true, func(a cycleArc) bool {
		return a.from == n.Index && (most > 0 || r.isCounted(a)) && (!succeeded || r.f.flow().Groups[a.from][a.group].Kind != controlflow.OnFailure)
	}}
}

// keyProgress returns what the nodes of the cycles of a way do to a number in the state, or
// to the length of a list; nil if that is not known.
func (r *cycles) keyProgress(key int, length bool, a cycleArc) *progress {
	if r.f.graph.State[key].Once {
		return nil
	}
	direction, by := 0, []int{}
	for _, n := range r.f.writersOf()[r.f.graph.State[key].Name.Value] {
		if !r.f.flow().Reached[n.Index] || !r.isBeside(a)(n) {
			continue
		}
		c := r.f.change(n.Index, key, length)
		if c.unknown || direction*c.direction < 0 {
			return nil
		}
		if c.direction != 0 {
			direction = c.direction
			if c.strict {
				by = append(by, n.Index)
			}
		}
	}
	if len(by) == 0 {
		return nil
	}
	return &progress{direction > 0, func(a cycleArc) bool {
		return slices.Contains(by, a.from) && r.isCounted(a) && r.f.flow().Groups[a.from][a.group].Kind != controlflow.OnFailure
	}}
}

// change is how one node changes a number in the state, or the length of a list.
type change struct {
	unknown   bool
	direction int  // up 1, down -1
	strict    bool // whenever the node succeeds
}

// boundWrite returns what a node writes to a key, or nil.
func (f *facts) boundWrite(v int, name string) *bind.Value {
	b := &f.bound.Nodes[v]
	for i := range b.Set {
		if b.Set[i].Name == name && f.graph.Nodes[v].Kind.Value == "set" {
			return &b.Set[i].Value
		}
	}
	for i := range b.Writes {
		if b.Writes[i].Name == name {
			return &b.Writes[i].Value
		}
	}
	return nil
}

// treeOf returns the expression of a value; nil for templates, lists and maps.
func treeOf(value *bind.Value) *eval.Tree {
	switch {
	case value == nil:
	case value.Program() != nil:
		return value.Program().Tree()
	case value.IsConst():
		return &eval.Tree{Op: eval.TreeConst, Value: value.Const()}
	}
	return nil
}

// twice reports whether a node writes a key more than once.
func (f *facts) twice(v, key int) bool {
	isKey := func(w dataflow.Write) bool { return w.Key == key }
	writes := f.access()[v].Writes
	i := slices.IndexFunc(writes, isKey)
	return i >= 0 && slices.ContainsFunc(writes[i+1:], isKey)
}

func (f *facts) change(v, key int, length bool) change {
	state, n := f.graph.State[key], f.graph.Nodes[v]
	name := state.Name.Value
	value := f.boundWrite(v, name)
	tree := treeOf(value)
	if n.Each.IsSet() || f.twice(v, key) {
		return change{unknown: true}
	}
	switch reducer := state.Reducer.Value; {
	case dataflow.Replaces(state) && tree != nil && length:
		return resized(name, value.Program(), tree)
	case dataflow.Replaces(state) && tree != nil:
		return moved(name, tree)
	case reducer == "sum" && tree != nil && !length:
		if by, ok := number(tree); ok {
			return moveBy(by)
		}
	case (reducer == "append" || reducer == "prepend") && length:
		parse := n.Field("parse")
		yieldsText := n.Kind.Value == "exec" && parse != nil && parse.Text.Value == "text" || n.Kind.Value == "llm" && n.Output == nil && n.Field("tools") == nil
		strict := tree != nil && (tree.Op == eval.TreeList && len(tree.Args) > 0 || tree.Op == eval.TreeConst && tree.Value != nil) ||
			value == nil && yieldsText
		return change{direction: 1, strict: strict}
	}
	return change{unknown: true}
}

func moveBy(n float64) change { return change{strict: n != 0, direction: cmp.Compare(n, 0)} }

// moved returns how an assignment to a key changes it that adds to its own value. An end at
// which min or max keeps it is not looked at.
func moved(name string, t *eval.Tree) change {
	if isKey(name, t) {
		return change{}
	}
	if len(t.Args) != 2 || t.Op != eval.TreeBinary && t.Op != eval.TreeCall {
		return change{unknown: true}
	}
	for i := range 2 {
		by, isNumber := number(t.Args[i])
		own := t.Args[1-i]
		switch {
		case !isNumber:
		case t.Name == "+" && isKey(name, own):
			return moveBy(by)
		case t.Name == "-" && i == 1 && isKey(name, own):
			return moveBy(-by)
		case t.Name == "min" || t.Name == "max":
			if c := moved(name, own); !c.unknown && (c.direction > 0) == (t.Name == "min") {
				return c
			}
		}
	}
	return change{unknown: true}
}

func isKey(name string, t *eval.Tree) bool {
	return t.Op == eval.TreePath && len(t.Path) == 1 && t.Path[0] == name
}

// sliced matches a list without its first or last elements.
var sliced = regexp.MustCompile(`^\s*(?:state\.)?(\w+)\s*\[\s*(?:([1-9]\d*)\s*:\s*|\s*:\s*-[1-9]\d*\s*|\s*:\s*len\((?:state\.)?(\w+)\)\s*-\s*[1-9]\d*\s*)\]\s*$`)

// resized returns how an assignment changes the length of a list.
func resized(name string, p *eval.Program, t *eval.Tree) change {
	if p != nil {
		if m := sliced.FindStringSubmatch(p.Source()); m != nil && m[1] == name && (m[3] == "" || m[3] == name) {
			return change{direction: -1, strict: true}
		}
	}
	if isKey(name, t) {
		return change{}
	}
	if t.Op == eval.TreeBinary && t.Name == "+" || t.Op == eval.TreeCall && t.Name == "concat" {
		if slices.ContainsFunc(t.Args, func(part *eval.Tree) bool { return isKey(name, part) }) {
			return change{direction: 1, strict: slices.ContainsFunc(t.Args, func(part *eval.Tree) bool { return part.Op == eval.TreeList && len(part.Args) > 0 })}
		}
	}
	return change{unknown: true}
}

// counters returns, for each component of the graph, the state keys that its nodes may count
// with in a way that is not known.
func (f *facts) counters() []map[string]bool {
	w := f.flow()
	out := make([]map[string]bool, len(w.SCC))
	for changed := true; changed; {
		changed = false
		for v, a := range f.access() {
			c := w.SCC[v]
			for i := range a.Writes {
				write := &a.Writes[i]
				name := write.Name.Value
				if out[c][name] || !w.Cyclic[v] || !f.counts(v, write, out[c]) || f.changesPlainly(v, write) {
					continue
				}
				if out[c] == nil {
					out[c] = map[string]bool{}
				}
				out[c][name], changed = true, true
			}
		}
	}
	return out
}

// changesPlainly reports whether a write changes its key by a constant, to a constant, or
// to a number that depends on nothing else.
func (f *facts) changesPlainly(v int, w *dataflow.Write) bool {
	number, value := f.isNumeric(w.Key), f.boundWrite(v, w.Name.Value)
	return !f.change(v, w.Key, !number).unknown || value != nil && value.IsConst() ||
		number && value != nil && value.Program() != nil && !slices.ContainsFunc(value.Program().Reads(), func(r eval.Read) bool { return r.Path[0] != w.Name.Value })
}

// counts reports whether a write counts: it adds to its key, is computed from that or from
// other counters, or is a number or a list that a program yields.
func (f *facts) counts(v int, w *dataflow.Write, counters map[string]bool) bool {
	key, n := f.graph.State[w.Key], f.graph.Nodes[v]
	typ, number := eval.FromSchema(key.Schema), f.isNumeric(w.Key)
	reads := w.Value != nil && slices.ContainsFunc(w.Value.Reads(), func(r eval.Read) bool {
		return counters[r.Path[0]] || r.Path[0] == w.Name.Value
	})
	switch {
	case !dataflow.Replaces(key):
		return number || typ.IsList() || key.Reducer.Value == "append"
	case reads:
		return true
	case isModel(n), n.Kind.Value == "human": // they don't count
		return false
	case n.Kind.Value == "set" && !typ.IsList():
		return number && w.Value != nil && dataflow.AsksProgress(w.Value)
	}
	return typ.IsList() || typ.String() == "integer"
}

func (f *facts) isNumeric(key int) bool {
	typ := eval.FromSchema(f.graph.State[key].Schema).String()
	return typ == "integer" || typ == "number"
}
