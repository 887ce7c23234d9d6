// Numbers that conditions compare, followed as intervals along a run: state keys, visits
// and the step. So a loop that counts is followed as often as it can go round.

package lint

import (
	"math"
	"slices"
	"strings"

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

// hull returns the smallest interval around some numbers.
func hull(numbers ...float64) interval {
	a := interval{slices.Min(numbers), slices.Max(numbers), false}
	if math.IsNaN(a.lo) || math.IsNaN(a.hi) {
		return anyNumber
	}
	return a
}

// variable is a number that is followed: a state key, the visits of a node or the step.
type variable struct {
	key    *spec.StateKey // nil for visits and the step
	whole  bool
	schema interval
}

// keep forgets what is not told apart of a variable: how far from 0 it is beyond w.far.
func (w *boundWalk) keep(v *variable, a interval) interval {
	if v.whole {
		a.lo, a.hi = math.Ceil(a.lo), math.Floor(a.hi)
	}
	if a.lo > a.hi { // such as a fraction added to an integer
		return anyNumber
	}
	if a.lo = min(a.lo, w.far); a.lo < -w.far {
		a.lo = math.Inf(-1)
	}
	if a.hi = max(a.hi, -w.far); a.hi > w.far {
		a.hi = math.Inf(1)
	}
	return a
}

// maxCounted is the largest constant up to which numbers are told apart.
const maxCounted = 1000

// tellApart makes the walk tell apart numbers near those of an expression.
func (w *boundWalk) tellApart(t *eval.Tree) {
	t.Each(func(t *eval.Tree) {
		if n, ok := number(t); ok && math.Abs(n) <= maxCounted {
			w.far = max(w.far, math.Ceil(math.Abs(n))+2)
		}
	})
}

// findVariables collects the visits that conditions read and, if asked for, the state keys
// that they read and those from which these are computed.
func (w *boundWalk) findVariables(keysToo bool) {
	w.vars, w.varOf, w.far = nil, map[string]int{}, 0
	var todo []eval.Read
	for i := range w.f.graph.Edges {
		if p := w.f.bound.Edges[i].When; p != nil {
			todo = append(todo, p.Reads()...)
			w.tellApart(p.Tree())
		}
	}
	for v, n := range w.f.graph.Nodes {
		if w.limit[v] > 0 {
			w.far = max(w.far, float64(w.limit[v]))
			todo = append(todo, eval.Read{Path: []string{"visits", n.ID.Value}})
		}
	}
	keysToo = keysToo && slices.Contains(w.flow.Cyclic, true)
	for ; len(todo) > 0; todo = todo[1:] {
		name := variableName(todo[0].Path)
		if _, known := w.varOf[name]; known || name == "" {
			continue
		}
		v := variable{whole: true}
		if v.key = w.f.graph.Key(name); v.key != nil {
			typ := eval.FromSchema(v.key.Schema).String()
			if v.whole = typ == "integer"; !keysToo || !v.whole && typ != "number" || v.key.Once || domain.AllowsNull(v.key.Schema) {
				continue
			}
			v.schema = w.rangeOf(v.key)
			for _, n := range w.f.writersOf()[name] {
				if value := w.f.boundWrite(n.Index, name); value != nil && value.Program() != nil {
					todo = append(todo, value.Program().Reads()...)
					w.tellApart(value.Program().Tree())
				}
			}
		}
		w.varOf[name], w.vars = len(w.vars), append(w.vars, v)
	}
}

// variableName names what a path reads if that may be followed; "" otherwise.
func variableName(path []string) string {
	switch {
	case len(path) == 1 && path[0] != "visits":
		return path[0]
	case len(path) == 2 && path[0] == "visits", len(path) == 3 && path[0] == "nodes" && path[2] == "visits":
		return "visits." + path[1]
	}
	return ""
}

// rangeOf returns what the schema of a key allows.
func (w *boundWalk) rangeOf(key *spec.StateKey) interval {
	d, out := w.f.wholeDomain(key), anyNumber
	if d.HasMin {
		out.lo = d.Min
		w.tellApart(&eval.Tree{Value: d.Min})
	}
	if d.HasMax {
		out.hi = d.Max
		w.tellApart(&eval.Tree{Value: d.Max})
	}
	return out
}

// valuesAt returns the values with which a run gets to a place: the start or, if entered is
// set, a cycle with some nodes that it has not been on.
func (w *boundWalk) valuesAt(entered bool, inside func(v int) bool) []interval {
	out := make([]interval, len(w.vars))
	for name, i := range w.varOf { //lint:ignore mapiter each by itself
		v := &w.vars[i]
		n := w.f.graph.Node(strings.TrimPrefix(name, "visits."))
		switch {
		case v.key != nil:
			if out[i] = w.keep(v, v.schema); entered && !dataflow.Replaces(v.key) {
				out[i] = anyNumber
			}
			out[i].null = !v.key.Required && (v.key.Default == nil || v.key.Default.Kind == spec.Null)
		case entered && (n == nil || !inside(n.Index)):
			out[i].hi = math.Inf(1)
		}
	}
	return out
}

// counted returns the values once a node has begun a visit, or has been skipped.
func (w *boundWalk) counted(v int, values []interval, visit bool) []interval {
	out := slices.Clone(values)
	for _, name := range []string{"step", "visits." + w.f.Name(v)} {
		if i, known := w.varOf[name]; known && (visit || name == "step") {
			out[i] = w.keep(&w.vars[i], hull(out[i].lo+1, out[i].hi+1))
		}
	}
	return out
}

// written returns the values once a node has succeeded.
func (w *boundWalk) written(v int, from []interval) []interval {
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
		v1, before, value := &w.vars[i], to[i], anyNumber
		if tree := treeOf(w.f.boundWrite(v, write.Name.Value)); tree != nil && !n.Each.IsSet() && !w.f.twice(v, write.Key) {
			value = w.interval(tree, seen)
		}
		switch {
		case dataflow.Replaces(v1.key):
			value = interval{max(value.lo, v1.schema.lo), min(value.hi, v1.schema.hi), false}
			seen[i] = w.keep(v1, value)
		case before.null || value.null || v1.key.Reducer.Value != "sum":
			value, seen[i] = anyNumber, anyNumber
		default:
			value, seen[i] = hull(before.lo+value.lo, before.hi+value.hi), anyNumber
		}
		if n.Each.IsSet() {
			value = interval{min(value.lo, before.lo), max(value.hi, before.hi), before.null}
		}
		null := value.null
		to[i] = w.keep(v1, value)
		to[i].null = null
	}
	return to
}

// interval bounds the value of an expression: a number, unless it is null.
func (w *boundWalk) interval(t *eval.Tree, values []interval) interval {
	if n, ok := number(t); ok {
		return hull(n)
	}
	if t.Op == eval.TreePath {
		if i, followed := w.varOf[variableName(t.Path)]; followed {
			return values[i]
		}
		return anyNumber
	}
	if len(t.Args) != 2 || t.Op != eval.TreeBinary && t.Op != eval.TreeCall {
		return anyNumber
	}
	a, b := w.interval(t.Args[0], values), w.interval(t.Args[1], values)
	if t.Name == "??" && a.null {
		return interval{min(a.lo, b.lo), max(a.hi, b.hi), b.null}
	}
	switch t.Name { // of null there is no value
	case "min":
		return hull(min(a.lo, b.lo), min(a.hi, b.hi))
	case "max":
		return hull(max(a.lo, b.lo), max(a.hi, b.hi))
	case "+":
		return hull(a.lo+b.lo, a.hi+b.hi)
	case "-":
		return hull(a.lo-b.hi, a.hi-b.lo)
	case "*":
		return hull(a.lo*b.lo, a.lo*b.hi, a.hi*b.lo, a.hi*b.hi)
	case "??":
		return a
	}
	return anyNumber
}

// decided returns the outcome of a condition, if the values tell it.
func (w *boundWalk) decided(t *eval.Tree, values []interval) (holds, known bool) {
	switch {
	case t.Op == eval.TreeConst:
		holds, known = t.Value.(bool)
		return holds, known
	case t.Op == eval.TreeUnary && t.Name == "not":
		holds, known = w.decided(t.Args[0], values)
		return !holds, known
	case t.Op != eval.TreeBinary || len(t.Args) != 2:
		return false, false
	case t.Name == "and" || t.Name == "or":
		left, isLeft := w.decided(t.Args[0], values)
		right, isRight := w.decided(t.Args[1], values)
		either := t.Name == "or"
		if isLeft && left == either || isRight && right == either {
			return either, true
		}
		return !either, isLeft && isRight
	}
	a, b := w.interval(t.Args[0], values), w.interval(t.Args[1], values)
	if a.null || b.null {
		return false, false
	}
	below, above, same := a.hi < b.lo, a.lo > b.hi, a.lo == b.hi && a.hi == b.lo
	switch atMost, atLeast := a.hi <= b.lo, a.lo >= b.hi; t.Name {
	case "<":
		return below, below || atLeast
	case "<=":
		return atMost, atMost || above
	case ">":
		return above, above || atMost
	case ">=":
		return atLeast, atLeast || below
	case "==":
		return same, same || below || above
	case "!=":
		return !same, same || below || above
	}
	return false, false
}
