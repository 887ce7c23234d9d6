// Progress on cycles: visits, steps and state keys that only grow or only shrink.

package lint

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/spec"
)

// progress is a number that moves in one direction on the cycles of an arc.
type progress struct {
	up   bool
	stop float64               // the last value; infinite without one
	made func(a cycleArc) bool // has it changed on this arc?
}

// passes reports whether the number goes on until its comparison with a limit has changed.
func (p *progress) passes(op string, limit *eval.Tree) bool {
	if math.IsInf(p.stop, 0) {
		return true
	}
	last, known := number(limit)
	beyond := cmp.Compare(p.stop, last)
	if !p.up {
		beyond = -beyond
	}
	return known && (beyond > 0 || beyond == 0 && op != "<=" && op != ">=" && op != "==")
}

// progressOf returns the progress of one side of a comparison, or nil.
func (r *cycles) progressOf(t *eval.Tree, a cycleArc) *progress {
	length := t.Op == eval.TreeCall && t.Name == "len" && len(t.Args) == 1
	if length {
		t = t.Args[0]
	}
	switch path := t.Path; {
	case length && len(path) == 2 && path[0] == "history", !length && len(path) == 2 && path[0] == "visits":
		return r.visitProgress(path[1], length, a)
	case !length && len(path) == 3 && path[0] == "nodes" && path[2] == "visits":
		return r.visitProgress(path[1], false, a)
	case !length && len(path) == 1 && path[0] == "step":
		return &progress{true, math.Inf(1), func(a cycleArc) bool { return r.isCounted(a) || r.f.graph.Nodes[a.from].OnMaxVisits == "skip" }}
	case len(path) == 1 && r.f.graph.Key(path[0]) != nil:
		return r.keyProgress(r.f.keyOf[path[0]], length, a)
	}
	return nil
}

// visitProgress counts the visits of a node of the same cycles, or those that succeeded.
func (r *cycles) visitProgress(name string, succeeded bool, a cycleArc) *progress {
	n := r.f.graph.Node(name)
	if n == nil || r.of[n.Index] != r.of[a.from] {
		return nil
	}
	most, stop := r.limit(n.Index), math.Inf(1)
	if most > 0 {
		stop = float64(most)
	}
	return &progress{true, stop, func(a cycleArc) bool {
		return a.from == n.Index && (most > 0 || r.isCounted(a)) && (!succeeded || r.kind(a) != controlflow.OnFailure)
	}}
}

// keyProgress returns the progress of a number in the state, or of the length of a list. It is
// nil for an unknown one.
func (r *cycles) keyProgress(key int, length bool, a cycleArc) *progress {
	state := r.f.graph.State[key]
	direction, by, stops := 0, []int{}, map[float64]bool{}
	for _, n := range r.f.writersBeside(a.from, state.Name.Value) {
		if !r.f.flow().Reached[n.Index] || !r.isBeside(a)(n) {
			continue
		}
		c, known := r.f.changeBy(n.Index, key, length)
		if !known || direction*c.direction < 0 || state.Once {
			return nil
		}
		if direction += c.direction; c.direction != 0 && !c.maybe {
			by = append(by, n.Index)
		}
		if c.direction != 0 {
			stops[c.stop] = true
		}
	}
	if len(by) == 0 || len(stops) > 1 {
		return nil
	}
	stop := slices.Collect(maps.Keys(stops))[0]
	return &progress{direction > 0, stop, func(a cycleArc) bool {
		return slices.Contains(by, a.from) && r.isCounted(a) && r.kind(a) != controlflow.OnFailure
	}}
}

// change is how a success of a node changes a number in the state, or the length of a list.
type change struct {
	direction int     // 1 up, -1 down
	stop      float64 // where it ends; infinite for nowhere
	maybe     bool    // or not at all
}

// moves returns a change up or down without an end.
func moves(direction int) change { return change{direction: direction, stop: math.Inf(direction)} }

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

// treeOf returns the expression of a value, or nil for templates, lists and maps.
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

// changeBy returns how a node changes a state key, if that is known.
func (f *facts) changeBy(v, key int, length bool) (c change, known bool) {
	state, n := f.graph.State[key], f.graph.Nodes[v]
	name, reducer := state.Name.Value, state.Reducer.Value
	writes := 0
	for _, w := range f.access()[v].Writes {
		if w.Key == key {
			writes++
		}
	}
	value := f.boundWrite(v, name)
	t := treeOf(value)
	switch {
	case n.Each.IsSet() || writes > 1:
	case (reducer == "append" || reducer == "prepend") && length:
		parse := text(n, "parse").Value
		isText := value == nil && (n.Kind.Value == "exec" && parse == "text" || n.Kind.Value == "llm" && n.Output == nil && n.Field("tools") == nil)
		c := moves(1)
		c.maybe = !isText && !isFilled(t) && (t == nil || t.Op != eval.TreeConst || t.Value == nil)
		return c, true
	case t == nil:
	case reducer == "sum" && !length:
		by, known := number(t)
		return moves(cmp.Compare(by, 0)), known
	case dataflow.Replaces(state) && length:
		return resize(name, value.Program(), t)
	case dataflow.Replaces(state):
		return move(name, t)
	}
	return change{}, false
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

// isFilled reports whether an expression is a list with elements.
func isFilled(t *eval.Tree) bool { return t != nil && t.Op == eval.TreeList && len(t.Args) > 0 }

// move returns how an assignment to a key changes it that adds to its own value.
func move(name string, t *eval.Tree) (c change, known bool) {
	if isKey(name, t) {
		return change{}, true
	}
	if len(t.Args) != 2 || t.Op != eval.TreeBinary && t.Op != eval.TreeCall {
		return change{}, false
	}
	for i, own := range []*eval.Tree{t.Args[1], t.Args[0]} {
		by, isNumber := number(t.Args[i])
		switch {
		case !isNumber:
		case t.Name == "+" && isKey(name, own):
			return moves(cmp.Compare(by, 0)), true
		case t.Name == "-" && i == 1 && isKey(name, own):
			return moves(cmp.Compare(0, by)), true
		case t.Name == "min" || t.Name == "max":
			if c, known := move(name, own); known && (c.direction > 0) == (t.Name == "min") {
				c.stop = by
				return c, true
			}
		}
	}
	return change{}, false
}

func isKey(name string, t *eval.Tree) bool {
	return t.Op == eval.TreePath && len(t.Path) == 1 && t.Path[0] == name
}

// shorter matches a list without its first or last elements.
var shorter = lazyregexp.New(`^\s*(?:state\.)?(\w+)\s*\[\s*(?:[1-9]\d*\s*:\s*|:\s*-[1-9]\d*\s*|:\s*len\((?:state\.)?(\w+)\)\s*-\s*[1-9]\d*\s*)\]\s*$`)

// resize returns how an assignment changes the length of a list.
func resize(name string, p *eval.Program, t *eval.Tree) (c change, known bool) {
	isOwn := func(part *eval.Tree) bool { return isKey(name, part) }
	if p != nil {
		if m := shorter().FindStringSubmatch(p.Source()); m != nil && m[1] == name && (m[2] == "" || m[2] == name) {
			return change{direction: -1, stop: 0}, true
		}
	}
	if t.Op != eval.TreePath && t.Name != "+" && t.Name != "concat" {
		return change{}, false
	}
	if t.Op == eval.TreePath {
		return change{}, isOwn(t)
	}
	c = moves(1)
	c.maybe = !slices.ContainsFunc(t.Args, isFilled)
	return c, slices.ContainsFunc(t.Args, isOwn)
}

// counts reports whether a program may count with a state key. The new value of a number
// depends on something else that changes on the cycles of the node.
func (f *facts) counts(n *spec.Node, key int) bool {
	state := f.graph.State[key]
	typ := eval.FromSchema(state.Schema)
	number := typ.String() == "integer" || typ.String() == "number"
	value := f.boundWrite(n.Index, state.Name.Value)
	changes := func(r eval.Read) bool {
		name := r.Path[0]
		isWriter := func(w *spec.Node) bool {
			return f.sharesCycle(n.Index, w.Index) && (number || !isModel(w) && w.Kind.Value != "human")
		}
		return name != state.Name.Value && (f.graph.Key(name) == nil || slices.ContainsFunc(f.writersOf()[name], isWriter))
	}
	switch {
	case !number && !typ.IsList(), isModel(n), n.Kind.Value == "human", value != nil && value.IsConst():
		return false
	case (number || n.Kind.Value == "set") && value != nil && value.Program() != nil && !slices.ContainsFunc(value.Program().Reads(), changes):
		return false
	}
	_, known := f.changeBy(n.Index, key, !number)
	return !known
}
