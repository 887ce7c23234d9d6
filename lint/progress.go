// Progress: what grows or shrinks on cycles. That is visits, steps, and what nodes count in
// the state.

package lint

import (
	"regexp"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// progress is a number that never goes back on the cycles of a way.
type progress struct {
	up   bool
	made func(a cycleArc) bool // on which ways it has changed
	// edge is a value that it does not pass, or nil.
	edge *float64
}

// leaves reports whether it reaches values for which a comparison with a value that stays
// the same is false for good.
func (p *progress) leaves(op string, with *eval.Tree) bool {
	bound, isNumber := number(with)
	switch {
	case op == "==":
	case op == "!=", p.up && op[0] != '<', !p.up && op[0] != '>':
		return op == "!=" && isNumber && p.edge != nil && bound == *p.edge
	}
	switch {
	case p.edge == nil:
		return true
	case !isNumber:
		return false
	case p.up:
		return bound < *p.edge || op == "<" && bound == *p.edge
	}
	return bound > *p.edge || op == ">" && bound == *p.edge
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

// comparisons are the operators with their sides in the other order, and of the opposite
// outcome.
var comparisons = map[string]struct{ turned, negated string }{
	"<": {">", ">="}, ">": {"<", "<="}, "<=": {">=", ">"}, ">=": {"<=", "<"}, "==": {"==", "!="}, "!=": {"!=", "=="},
}

// comparison is an operator with its sides in order and its outcome true; "" for
// others.
func comparison(op string, turned, holds bool) string {
	if _, known := comparisons[op]; !known {
		return ""
	}
	if turned {
		op = comparisons[op].turned
	}
	if !holds {
		op = comparisons[op].negated
	}
	return op
}

// progressOf is what a part of a condition counts; nil when that is nothing sure.
func (r *cycles) progressOf(t *eval.Tree, a cycleArc) *progress {
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
		return r.visitsOf(path[1], length, a)
	case !length && len(path) == 3 && path[0] == "nodes" && path[2] == "visits":
		return r.visitsOf(path[1], false, a)
	case !length && len(path) == 1 && path[0] == "step":
		return &progress{up: true, made: func(a cycleArc) bool {
			return r.counted(a) || r.f.graph.Nodes[a.from].OnMaxVisits == "skip"
		}}
	case len(path) == 1:
		if key, declared := r.f.keyOf[path[0]]; declared {
			return r.keyProgress(key, length, a)
		}
	}
	return nil
}

// visitsOf counts the visits of a node of the same cycles, or those that ended well.
func (r *cycles) visitsOf(name string, ended bool, a cycleArc) *progress {
	n := r.f.graph.Node(name)
	if n == nil || r.of[n.Index] != r.of[a.from] {
		return nil
	}
	p := &progress{up: true}
	if most := r.limit[n.Index]; most > 0 && !ended { // then they stay what they are
		top := float64(most)
		p.edge = &top
		p.made = func(a cycleArc) bool { return a.from == n.Index }
		return p
	}
	p.made = func(a cycleArc) bool {
		return a.from == n.Index && r.counted(a) && (!ended || r.f.flow().Groups[a.from][a.group].Kind != controlflow.OnFailure)
	}
	return p
}

// beside reports which nodes may run between two times that a way is taken: those of
// its cycles, and those of branches beside them.
func (r *cycles) beside(a cycleArc) func(n *spec.Node) bool {
	return func(n *spec.Node) bool {
		return r.of[n.Index] == r.of[a.from] || r.f.inParallel(n.Index, a.from)
	}
}

// keyProgress returns what the nodes of the cycles of a way do to a number in the state, or
// to the length of a list, or nil.
func (r *cycles) keyProgress(key int, length bool, a cycleArc) *progress {
	if r.f.graph.State[key].Once {
		return nil
	}
	direction, p, by := 0, &progress{}, []int{}
	for v, access := range r.f.access() {
		writes := slices.ContainsFunc(access.Writes, func(w dataflow.Write) bool { return w.Key == key })
		if !writes || !r.f.flow().Reached[v] || !r.beside(a)(r.f.graph.Nodes[v]) {
			continue
		}
		c := r.f.change(v, key, length)
		if c.unknown || direction*c.direction < 0 {
			return nil
		}
		if c.direction == 0 {
			continue
		}
		if direction != 0 && ((p.edge == nil) != (c.edge == nil) || p.edge != nil && *p.edge != *c.edge) {
			return nil
		}
		if p.edge, direction = c.edge, c.direction; c.strict {
			by = append(by, v)
		}
	}
	if len(by) == 0 {
		return nil
	}
	p.up = direction > 0
	p.made = func(a cycleArc) bool {
		return slices.Contains(by, a.from) && r.counted(a) && r.f.flow().Groups[a.from][a.group].Kind != controlflow.OnFailure
	}
	return p
}

// change is what one node does to a number in the state, or to the length of a list.
type change struct {
	unknown   bool
	direction int  // up 1, down -1
	strict    bool // whenever the node succeeds
	edge      *float64
}

// boundWrite is what a node writes to a key.
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

// treeOf is what a value is computed by; nil for none, and for templates, lists and maps.
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

// yieldsText reports whether a node yields a text whenever it succeeds: no list, whose
// elements might be none.
func yieldsText(n *spec.Node) bool {
	parse := n.Field("parse")
	return n.Kind.Value == "exec" && parse != nil && parse.Text.Value == "text" || n.Kind.Value == "llm" && n.Output == nil && n.Field("tools") == nil
}

func (f *facts) change(v, key int, length bool) change {
	state := f.graph.State[key]
	name := state.Name.Value
	value := f.boundWrite(v, name)
	if f.graph.Nodes[v].Each.IsSet() || slices.ContainsFunc(f.access()[v].Writes, func(w dataflow.Write) bool { return w.Key == key }) && f.twice(v, key) {
		return change{unknown: true}
	}
	tree := treeOf(value)
	switch reducer := state.Reducer.Value; {
	case dataflow.Replaces(state) && tree != nil && length:
		return shortened(name, value.Program(), tree)
	case dataflow.Replaces(state) && tree != nil:
		return moved(name, tree)
	case reducer == "sum" && tree != nil && !length:
		if n, ok := number(tree); ok {
			return by(n)
		}
	case (reducer == "append" || reducer == "prepend") && length:
		strict := tree != nil && (tree.Op == eval.TreeList && len(tree.Args) > 0 || tree.Op == eval.TreeConst && tree.Value != nil) ||
			value == nil && yieldsText(f.graph.Nodes[v])
		return change{direction: 1, strict: strict}
	}
	return change{unknown: true}
}

// twice reports whether a node writes a key more than once.
func (f *facts) twice(v, key int) bool {
	n := 0
	for i := range f.access()[v].Writes {
		if f.access()[v].Writes[i].Key == key {
			n++
		}
	}
	return n > 1
}

// by is the change by a number.
func by(n float64) change {
	c := change{strict: n != 0}
	switch {
	case n > 0:
		c.direction = 1
	case n < 0:
		c.direction = -1
	}
	return c
}

// moved is what an assignment to a key does that adds to its own value, up to an edge
// or not.
func moved(name string, t *eval.Tree) change {
	if isKey(name, t) {
		return change{}
	}
	if t.Op == eval.TreeCall && (t.Name == "min" || t.Name == "max") && len(t.Args) == 2 {
		for i := range 2 {
			edge, isNumber := number(t.Args[i])
			c := moved(name, t.Args[1-i])
			if isNumber && !c.unknown && c.edge == nil && (c.direction > 0) == (t.Name == "min") {
				c.edge = &edge
				return c
			}
		}
	}
	if t.Op != eval.TreeBinary || len(t.Args) != 2 || t.Name != "+" && t.Name != "-" {
		return change{unknown: true}
	}
	if n, ok := number(t.Args[1]); ok && isKey(name, t.Args[0]) {
		if t.Name == "-" {
			n = -n
		}
		return by(n)
	}
	if n, ok := number(t.Args[0]); ok && isKey(name, t.Args[1]) && t.Name == "+" {
		return by(n)
	}
	return change{unknown: true}
}

func isKey(name string, t *eval.Tree) bool {
	return t.Op == eval.TreePath && len(t.Path) == 1 && t.Path[0] == name
}

// sliced is a list without its first or last elements.
var sliced = regexp.MustCompile(`^\s*(?:state\.)?(\w+)\s*\[\s*(?:([1-9]\d*)\s*:\s*|\s*:\s*-[1-9]\d*\s*|\s*:\s*len\((?:state\.)?(\w+)\)\s*-\s*[1-9]\d*\s*)\]\s*$`)

// shortened is what an assignment does to the length of a list: no less than before,
// when something is added, or less, down to 0.
func shortened(name string, p *eval.Program, t *eval.Tree) change {
	if p != nil {
		if m := sliced.FindStringSubmatch(p.Source()); m != nil && m[1] == name && (m[3] == "" || m[3] == name) {
			zero := 0.0
			return change{direction: -1, strict: true, edge: &zero}
		}
	}
	if isKey(name, t) {
		return change{}
	}
	if t.Op == eval.TreeBinary && t.Name == "+" || t.Op == eval.TreeCall && t.Name == "concat" {
		grows, strict := false, false
		for _, part := range t.Args {
			grows = grows || isKey(name, part)
			strict = strict || part.Op == eval.TreeList && len(part.Args) > 0
		}
		if grows {
			return change{direction: 1, strict: strict}
		}
	}
	return change{unknown: true}
}

func (f *facts) isNumeric(key int) bool {
	typ := eval.FromSchema(f.graph.State[key].Schema).String()
	return typ == "integer" || typ == "number"
}

// counters lists, for each component of the graph, the state keys that its nodes count
// with, and those computed from such; true where nobody can tell how they change.
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
				if out[c][name] || !w.Cyclic[v] || !f.counts(v, write, out[c]) {
					continue
				}
				plain := f.changesPlainly(v, write)
				if _, known := out[c][name]; known && plain {
					continue
				}
				if out[c] == nil {
					out[c] = map[string]bool{}
				}
				out[c][name], changed = !plain, true
			}
		}
	}
	return out
}

// changesPlainly reports whether it can be told how a write changes its key: by a constant,
// to a constant, or to a number that depends on nothing else.
func (f *facts) changesPlainly(v int, w *dataflow.Write) bool {
	number, value := f.isNumeric(w.Key), f.boundWrite(v, w.Name.Value)
	if !f.change(v, w.Key, !number).unknown || value != nil && value.IsConst() {
		return true
	}
	return number && value != nil && value.Program() != nil && !slices.ContainsFunc(value.Program().Reads(), func(r eval.Read) bool { return r.Path[0] != w.Name.Value })
}

// counts reports whether a write counts: it adds to its key, computes a value from that or
// from other counters, or is a number or a list that a program yields.
func (f *facts) counts(v int, w *dataflow.Write, counters map[string]bool) bool {
	key, n := f.graph.State[w.Key], f.graph.Nodes[v]
	typ, number := eval.FromSchema(key.Schema), f.isNumeric(w.Key)
	reads := w.Value != nil && slices.ContainsFunc(w.Value.Reads(), func(r eval.Read) bool {
		_, counted := counters[r.Path[0]]
		return counted || r.Path[0] == w.Name.Value
	})
	switch {
	case !dataflow.Replaces(key):
		return number || typ.IsList() || key.Reducer.Value == "append"
	case reads:
		return true
	case isModel(n), n.Kind.Value == "human": // they don't count
		return false
	case typ.IsList():
		return true
	case n.Kind.Value == "set":
		return number && w.Value != nil && dataflow.AsksProgress(w.Value)
	}
	return typ.String() == "integer"
}
