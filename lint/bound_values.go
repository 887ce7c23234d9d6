// Numbers that conditions compare, followed as intervals along a run: state keys, visits
// and the step. So a loop that counts is followed as often as it can go round.

package lint

import (
	"math"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/spec"
)

// interval holds the numbers from lo to hi; null says that there may be no number.
type interval struct {
	lo, hi float64
	null   bool
}

var anyNumber = interval{math.Inf(-1), math.Inf(1), false}

func (a interval) empty() bool { return a.lo > a.hi && !a.null }

func (a interval) plus(b interval) interval { return hull(a.lo+b.lo, a.hi+b.hi) }

func (a interval) or(b interval) interval {
	return interval{min(a.lo, b.lo), max(a.hi, b.hi), a.null || b.null}
}

// hull returns the smallest interval around some numbers.
func hull(numbers ...float64) interval {
	a := interval{slices.Min(numbers), slices.Max(numbers), false}
	if math.IsNaN(a.lo) || math.IsNaN(a.hi) {
		return anyNumber
	}
	return a
}

// comparedWith returns the part of an interval for which a comparison may be true.
func (a interval) comparedWith(op string, b interval) interval {
	below, above := math.Nextafter(b.hi, math.Inf(-1)), math.Nextafter(b.lo, math.Inf(1))
	switch op {
	case "<":
		return interval{a.lo, min(a.hi, below), false}
	case "<=":
		return interval{a.lo, min(a.hi, b.hi), false}
	case ">":
		return interval{max(a.lo, above), a.hi, false}
	case ">=":
		return interval{max(a.lo, b.lo), a.hi, false}
	case "==":
		return interval{max(a.lo, b.lo), min(a.hi, b.hi), false}
	}
	if out := a; b.lo == b.hi { // "!="
		if a.lo == b.lo {
			out.lo = above
		}
		if a.hi == b.lo {
			out.hi = below
		}
		return out
	}
	return a
}

// variable is a number that is followed: a state key, the visits of a node or the step.
type variable struct {
	key    *spec.StateKey // nil for visits and the step
	whole  bool
	schema interval
	// farthest is how far from 0 values are told apart.
	farthest float64
}

// keep forgets what a variable does not tell apart.
func (v *variable) keep(a interval) interval {
	if v.whole {
		a.lo, a.hi = math.Ceil(a.lo), math.Floor(a.hi)
	}
	if a.lo > a.hi {
		return a
	}
	if a.lo = min(a.lo, v.farthest); a.lo < -v.farthest {
		a.lo = math.Inf(-1)
	}
	if a.hi = max(a.hi, -v.farthest); a.hi > v.farthest {
		a.hi = math.Inf(1)
	}
	return a
}

// maxCounted is the largest constant up to which numbers are told apart.
const maxCounted = 1000

func largestConstant(t *eval.Tree) float64 {
	most := 0.0
	t.Each(func(t *eval.Tree) {
		if n, ok := number(t); ok && math.Abs(n) <= maxCounted {
			most = max(most, math.Ceil(math.Abs(n))+2)
		}
	})
	return most
}

// findVariables collects the visits that conditions read and, if asked for, the state keys
// that they read and those from which these are computed.
func (w *boundWalk) findVariables(keysToo bool) {
	w.vars, w.varOf = nil, map[string]int{}
	count := func(name string, far float64) {
		if _, known := w.varOf[name]; !known {
			w.varOf[name] = len(w.vars)
			w.vars = append(w.vars, variable{whole: true})
		}
		v := &w.vars[w.varOf[name]]
		v.farthest = max(v.farthest, far)
	}
	for v, n := range w.f.graph.Nodes {
		if w.limit[v] > 0 {
			count("visits."+n.ID.Value, float64(w.limit[v]))
		}
	}
	var keys []eval.Read
	far := 0.0
	for i := range w.f.graph.Edges {
		p := w.f.bound.Edges[i].When
		if p == nil {
			continue
		}
		most := largestConstant(p.Tree())
		far, keys = max(far, most), append(keys, p.Reads()...)
		for _, r := range p.Reads() {
			if name := counterName(r.Path); name == "step" || name != "" && w.f.graph.Node(name[len("visits."):]) != nil {
				count(name, most)
			}
		}
	}
	if keysToo && slices.Contains(w.flow.Cyclic, true) {
		w.followKeys(keys, far)
	}
}

// counterName returns the variable that a path reads, if that is visits or the step.
func counterName(path []string) string {
	switch {
	case len(path) == 1 && path[0] == "step":
		return "step"
	case len(path) == 2 && path[0] == "visits", len(path) == 3 && path[0] == "nodes" && path[2] == "visits":
		return "visits." + path[1]
	}
	return ""
}

// followKeys adds the numbers among some keys, and those from which nodes compute them.
func (w *boundWalk) followKeys(todo []eval.Read, far float64) {
	counters := len(w.vars)
	for ; len(todo) > 0; todo = todo[1:] {
		name := todo[0].Path[0]
		key := w.f.graph.Key(name)
		if _, known := w.varOf[name]; known || len(todo[0].Path) > 1 || key == nil || key.Once || domain.AllowsNull(key.Schema) {
			continue
		}
		d, typ := w.f.wholeDomain(key), eval.FromSchema(key.Schema).String()
		if typ != "integer" && typ != "number" {
			continue
		}
		v := variable{key: key, whole: typ == "integer", schema: anyNumber}
		if d.HasMin {
			v.schema.lo = d.Min
		}
		if d.HasMax {
			v.schema.hi = d.Max
		}
		for _, edge := range []float64{v.schema.lo, v.schema.hi} {
			if math.Abs(edge) <= maxCounted {
				far = max(far, math.Ceil(math.Abs(edge))+2)
			}
		}
		w.varOf[name], w.vars = len(w.vars), append(w.vars, v)
		for _, n := range w.f.writersOf()[name] {
			if value := w.f.boundWrite(n.Index, name); value != nil && value.Program() != nil {
				todo, far = append(todo, value.Program().Reads()...), max(far, largestConstant(value.Program().Tree()))
			}
		}
	}
	for i := counters; i < len(w.vars); i++ {
		w.vars[i].farthest = far
	}
}

// valuesAt are those with which a run comes to a place: the start, or, if entered is
// set, a cycle that it has not been on.
func (w *boundWalk) valuesAt(entered bool, inside func(v int) bool) []interval {
	out := make([]interval, len(w.vars))
	for i := range w.vars {
		v := &w.vars[i]
		if v.key == nil {
			continue
		}
		if out[i] = v.schema; entered && !dataflow.Replaces(v.key) {
			out[i] = anyNumber
		}
		out[i].null = !v.key.Required && (v.key.Default == nil || v.key.Default.Kind == spec.Null)
		out[i] = v.keep(out[i])
	}
	if !entered {
		return out
	}
	for name, i := range w.varOf { //lint:ignore mapiter each by itself
		if w.vars[i].key == nil && (name == "step" || !inside(w.f.graph.Node(name[len("visits."):]).Index)) {
			out[i].hi = math.Inf(1)
		}
	}
	return out
}

// counted returns the values once a node has begun a visit.
func (w *boundWalk) counted(v int, values []interval, visit bool) []interval {
	out := slices.Clone(values)
	for _, name := range []string{"step", "visits." + w.f.Name(v)} {
		if i, known := w.varOf[name]; known && (visit || name == "step") {
			out[i] = w.vars[i].keep(out[i].plus(interval{1, 1, false}))
		}
	}
	return out
}

// written returns the values once a node has succeeded; false when it can't.
func (w *boundWalk) written(v int, from []interval) (after []interval, ok bool) {
	n := w.f.graph.Nodes[v]
	to, seen := slices.Clone(from), slices.Clone(from)
	for i := range seen {
		if w.vars[i].key == nil { // nobody tells whether they count this visit
			seen[i] = anyNumber
		}
	}
	for _, write := range w.f.access()[v].Writes {
		i, followed := w.varOf[write.Name.Value]
		if !followed {
			continue
		}
		key, value, before := &w.vars[i], anyNumber, to[i]
		if tree := treeOf(w.f.boundWrite(v, write.Name.Value)); tree != nil && !n.Each.IsSet() && !w.f.twice(v, write.Key) {
			value = w.interval(tree, seen)
		}
		reducer := key.key.Reducer.Value
		switch {
		case dataflow.Replaces(key.key):
			value = key.keep(interval{max(value.lo, key.schema.lo), min(value.hi, key.schema.hi), false})
			if value.empty() {
				return nil, false
			}
			seen[i] = value
		case before.null || seen[i].null || reducer != "sum":
			value, seen[i] = anyNumber, anyNumber
		default:
			value, seen[i] = before.plus(value), anyNumber
		}
		if n.Each.IsSet() {
			value = value.or(before)
		}
		if to[i] = key.keep(value); to[i].empty() { // such as a fraction added to an integer
			to[i] = anyNumber
		}
	}
	return to, true
}

// variableAt returns the variable that an expression is; -1 for none.
func (w *boundWalk) variableAt(t *eval.Tree) int {
	if t.Op == eval.TreePath {
		name := counterName(t.Path)
		if name == "" && len(t.Path) == 1 {
			name = t.Path[0]
		}
		if i, followed := w.varOf[name]; followed {
			return i
		}
	}
	return -1
}

// interval bounds the number that an expression yields, if it yields one.
func (w *boundWalk) interval(t *eval.Tree, values []interval) interval {
	if n, ok := number(t); ok {
		return hull(n)
	}
	if i := w.variableAt(t); i >= 0 {
		return interval{values[i].lo, values[i].hi, false}
	}
	args := make([]interval, len(t.Args))
	for i, arg := range t.Args {
		args[i] = w.interval(arg, values)
	}
	switch {
	case t.Op == eval.TreeUnary && t.Name == "-":
		return hull(-args[0].lo, -args[0].hi)
	case t.Op == eval.TreeChoice:
		return args[1].or(args[2])
	case len(args) != 2 || t.Op != eval.TreeBinary && t.Op != eval.TreeCall:
		return anyNumber
	}
	a, b := args[0], args[1]
	switch t.Name {
	case "min":
		return hull(min(a.lo, b.lo), min(a.hi, b.hi))
	case "max":
		return hull(max(a.lo, b.lo), max(a.hi, b.hi))
	case "+":
		return a.plus(b)
	case "-":
		return hull(a.lo-b.hi, a.hi-b.lo)
	case "*":
		return hull(a.lo*b.lo, a.lo*b.hi, a.hi*b.lo, a.hi*b.hi)
	case "%":
		switch k, ok := t.Args[1].Value.(int); {
		case !ok || k <= 0 || a.lo < 0:
		case a.lo == a.hi:
			return hull(math.Mod(a.lo, float64(k)))
		default:
			return interval{0, float64(k - 1), false}
		}
	case "??":
		return a.or(b)
	}
	return anyNumber
}

// narrowed returns the values for which a condition comes out so; false if there are none.
func (w *boundWalk) narrowed(values []interval, t *eval.Tree, holds bool) ([]interval, bool) {
	switch {
	case t.Op == eval.TreeConst:
		return values, t.Value != any(!holds)
	case t.Op == eval.TreeUnary && t.Name == "not":
		return w.narrowed(values, t.Args[0], !holds)
	case t.Op != eval.TreeBinary || len(t.Args) != 2:
		return values, true
	case t.Name != "and" && t.Name != "or":
		return w.compared(values, t, holds)
	case (t.Name == "and") == holds: // both come out so
		values, ok := w.narrowed(values, t.Args[0], holds)
		if !ok {
			return nil, false
		}
		return w.narrowed(values, t.Args[1], holds)
	}
	left, isLeft := w.narrowed(values, t.Args[0], holds)
	right, isRight := w.narrowed(values, t.Args[1], holds)
	switch {
	case !isLeft:
		return right, isRight
	case !isRight:
		return left, true
	}
	out := slices.Clone(left)
	for i := range out {
		out[i] = out[i].or(right[i])
	}
	return out, true
}

// compared returns the values for which a comparison comes out so.
func (w *boundWalk) compared(values []interval, t *eval.Tree, holds bool) ([]interval, bool) {
	out := slices.Clone(values)
	for i, side := range t.Args {
		other, op := t.Args[1-i], comparison(t.Name, i == 1, holds)
		at, beside := w.variableAt(side), w.variableAt(other)
		switch {
		case op == "":
		case at >= 0 && dataflow.IsNull(other):
			if op == "==" && !out[at].null {
				return nil, false
			}
			out[at].null = out[at].null && op != "!="
		case !w.isNumeric(other) || !w.isNumeric(side) || beside >= 0 && values[beside].null: // maybe null, or a text
		case at >= 0:
			with := w.interval(other, values)
			if out[at] = w.vars[at].keep(out[at].comparedWith(op, with)); out[at].empty() {
				return nil, false
			}
		case w.interval(side, values).comparedWith(op, w.interval(other, values)).empty():
			return nil, false
		}
	}
	return out, true
}

// isNumeric reports whether an expression that has a value has a number, or the null of one
// variable.
func (w *boundWalk) isNumeric(t *eval.Tree) bool {
	if _, ok := number(t); ok || w.variableAt(t) >= 0 {
		return true
	}
	arithmetic := t.Op == eval.TreeBinary && slices.Contains([]string{"+", "-", "*", "%"}, t.Name) || t.Op == eval.TreeUnary && t.Name == "-"
	return arithmetic && !slices.ContainsFunc(t.Args, func(part *eval.Tree) bool { return !w.isNumeric(part) })
}
