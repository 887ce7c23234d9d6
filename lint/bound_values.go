// Numbers in the state that guards ask for, followed with the runs of a graph: between
// which values each of them is, so that a loop that counts to a limit is followed as
// often as it can go round.

package lint

import (
	"math"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// variable is a number in the state that is followed.
type variable struct {
	key    *spec.StateKey
	whole  bool     // an integer
	schema interval // what its schema lets through
}

// findVariables collects the keys that guards of a graph with loops compare, and those that
// they are computed from. Values further from 0 than any constant are not told apart.
func (w *boundWalk) findVariables() {
	w.vars, w.varOf, w.farthest = nil, map[string]int{}, 0
	if !slices.Contains(w.flow.Cyclic, true) {
		return
	}
	var todo []eval.Read
	constants := func(p *eval.Program) {
		p.Tree().Each(func(t *eval.Tree) {
			if n, ok := number(t); ok && math.Abs(n) <= maxCounted {
				w.farthest = max(w.farthest, math.Abs(n)+2)
			}
		})
	}
	for i := range w.f.graph.Edges {
		if p := w.f.bound.Edges[i].When; p != nil {
			todo = append(todo, p.Reads()...)
			constants(p)
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		name := todo[0].Path[0]
		key := w.f.graph.Key(name)
		if _, known := w.varOf[name]; known || len(todo[0].Path) > 1 || key == nil || !w.followable(key) {
			continue
		}
		w.varOf[name] = len(w.vars)
		w.vars = append(w.vars, w.variableOf(key))
		for _, n := range w.f.writersOf()[name] {
			if value := w.f.boundWrite(n.Index, name); value != nil && value.Program() != nil {
				todo = append(todo, value.Program().Reads()...)
				constants(value.Program())
			}
		}
	}
	for _, n := range w.vars {
		for _, v := range []float64{n.schema.lo, n.schema.hi} {
			if math.Abs(v) <= maxCounted {
				w.farthest = max(w.farthest, math.Abs(v)+2)
			}
		}
	}
	w.farthest = math.Ceil(w.farthest)
}

// followable reports whether a key is a number, and only what nodes write changes it.
func (w *boundWalk) followable(key *spec.StateKey) bool {
	typ := eval.FromSchema(key.Schema).String()
	return (typ == "integer" || typ == "number") && !key.Once && !domain.AllowsNull(key.Schema)
}

func (w *boundWalk) variableOf(key *spec.StateKey) variable {
	n := variable{key: key, whole: eval.FromSchema(key.Schema).String() == "integer", schema: anyNumber}
	d := w.f.wholeDomain(key)
	if d.HasMin {
		n.schema.lo = d.Min
	}
	if d.HasMax {
		n.schema.hi = d.Max
	}
	if d.Values != nil {
		n.schema = interval{math.Inf(1), math.Inf(-1), false}
		for _, v := range d.Values {
			value, ok := number(&eval.Tree{Value: v})
			if !ok {
				value = math.NaN()
			}
			n.schema = n.schema.or(interval{value, value, false})
		}
	}
	if n.schema = n.schema.sane(); n.whole {
		n.schema = n.schema.integers()
	}
	return n
}

// startValues are the values that an input may give, or leave at their defaults.
func (w *boundWalk) startValues() []interval {
	out := make([]interval, len(w.vars))
	for i, n := range w.vars {
		out[i] = n.schema
		out[i].null = !n.key.Required && (n.key.Default == nil || n.key.Default.Kind == spec.Null)
		out[i] = out[i].within(w.farthest)
	}
	return out
}

// written are the values once a node has succeeded; ok is false when it can't succeed.
func (w *boundWalk) written(v int, from []interval) (after []interval, ok bool) {
	if len(w.vars) == 0 {
		return from, true
	}
	n := w.f.graph.Nodes[v]
	to, seen := slices.Clone(from), slices.Clone(from)
	for _, write := range w.f.access()[v].Writes {
		name := write.Name.Value
		i, followed := w.varOf[name]
		if !followed {
			continue
		}
		key := w.vars[i]
		value := anyNumber
		if !n.Each.IsSet() && !w.f.twice(v, write.Key) {
			value = w.valueOf(w.f.boundWrite(v, name), seen)
		}
		before := to[i]
		switch reducer := key.key.Reducer.Value; {
		case dataflow.Replaces(key.key):
			if value = value.and(key.schema); key.whole {
				value = value.integers()
			}
			if value.empty() {
				return nil, false
			}
			seen[i] = value
		case before.null || seen[i].null:
			value, seen[i] = anyNumber, anyNumber
		case reducer == "sum":
			value, seen[i] = before.plus(value), anyNumber
		case reducer == "min":
			value, seen[i] = interval{min(before.lo, value.lo), min(before.hi, value.hi), false}, anyNumber
		case reducer == "max":
			value, seen[i] = interval{max(before.lo, value.lo), max(before.hi, value.hi), false}, anyNumber
		default:
			value, seen[i] = anyNumber, anyNumber
		}
		if n.Each.IsSet() {
			value = value.or(before)
		}
		if key.whole {
			value = value.integers()
		}
		if value.empty() { // such as a fraction that is added to an integer
			value = anyNumber
		}
		to[i] = value.within(w.farthest)
	}
	return to, true
}

// valueOf is what a node writes, given what it sees.
func (w *boundWalk) valueOf(value *bind.Value, seen []interval) interval {
	switch {
	case value == nil:
		return anyNumber
	case value.IsConst():
		return w.interval(&eval.Tree{Op: eval.TreeConst, Value: value.Const()}, seen)
	case value.Program() == nil:
		return anyNumber
	}
	return w.interval(value.Program().Tree(), seen)
}

// interval bounds the number that an expression comes to, if it comes to one.
func (w *boundWalk) interval(t *eval.Tree, seen []interval) interval {
	if n, ok := number(t); ok {
		return interval{n, n, false}
	}
	part := func(i int) interval { return w.interval(t.Args[i], seen) }
	switch {
	case t.Op == eval.TreePath && len(t.Path) == 1:
		if i, followed := w.varOf[t.Path[0]]; followed {
			return interval{seen[i].lo, seen[i].hi, false}
		}
	case t.Op == eval.TreeUnary && t.Name == "-":
		return part(0).negative()
	case t.Op == eval.TreeChoice:
		return part(1).or(part(2))
	case t.Op == eval.TreeCall && (t.Name == "min" || t.Name == "max") && len(t.Args) == 2:
		a, b := part(0), part(1)
		if t.Name == "min" {
			return interval{min(a.lo, b.lo), min(a.hi, b.hi), false}
		}
		return interval{max(a.lo, b.lo), max(a.hi, b.hi), false}
	case t.Op != eval.TreeBinary || len(t.Args) != 2:
		return anyNumber
	}
	switch t.Name {
	case "+":
		return part(0).plus(part(1))
	case "-":
		return part(0).plus(part(1).negative())
	case "*":
		a, b := part(0), part(1)
		corners := []float64{a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi}
		return interval{slices.Min(corners), slices.Max(corners), false}.sane()
	case "%":
		if k, ok := t.Args[1].Value.(int); ok && k > 0 {
			rest := interval{-float64(k - 1), float64(k - 1), false}
			if part(0).lo >= 0 {
				rest.lo = 0
			}
			return rest
		}
	case "??":
		return part(0).or(part(1))
	}
	return anyNumber
}

// valueDomain is what a guard finds in a number that is followed.
func (w *boundWalk) valueDomain(path []string, values []interval) (solve.Domain, bool) {
	i, followed := w.varOf[path[0]]
	if !followed || len(path) != 1 || i >= len(values) {
		return solve.Domain{}, false
	}
	v := values[i]
	d := solve.Domain{Kind: solve.Number, Min: v.lo, Max: v.hi, HasMin: !math.IsInf(v.lo, -1), HasMax: !math.IsInf(v.hi, 1), Null: v.null}
	if w.vars[i].whole {
		d.Kind = solve.Int
	}
	return d, true
}

// narrowed are the values for which a condition comes out so; false when there are none.
func (w *boundWalk) narrowed(values []interval, t *eval.Tree, holds bool) ([]interval, bool) {
	switch {
	case t.Op == eval.TreeConst:
		return values, t.Value != any(!holds)
	case t.Op == eval.TreeUnary && t.Name == "not":
		return w.narrowed(values, t.Args[0], !holds)
	case t.Op != eval.TreeBinary || len(t.Args) != 2:
		return values, true
	case t.Name == "and" || t.Name == "or":
		if (t.Name == "and") == holds { // both come out so
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
	op := comparison(t.Name, false, holds)
	if op == "" {
		return values, true
	}
	return w.compared(values, t.Args[0], t.Args[1], op)
}

// numeric reports whether an expression that has a value has a number, or the null of one
// variable.
func (w *boundWalk) numeric(t *eval.Tree) bool {
	if _, ok := number(t); ok {
		return true
	}
	switch {
	case t.Op == eval.TreePath:
		_, followed := w.varOf[t.Path[0]]
		return followed && len(t.Path) == 1
	case t.Op == eval.TreeBinary && slices.Contains([]string{"+", "-", "*", "%"}, t.Name), t.Op == eval.TreeUnary && t.Name == "-":
		return !slices.ContainsFunc(t.Args, func(part *eval.Tree) bool { return !w.numeric(part) })
	}
	return false
}

// compared are the values for which a comparison is true.
func (w *boundWalk) compared(values []interval, left, right *eval.Tree, op string) ([]interval, bool) {
	sides := [2]*eval.Tree{left, right}
	at := [2]int{-1, -1}
	for i, side := range sides {
		if side.Op == eval.TreePath && len(side.Path) == 1 {
			if k, followed := w.varOf[side.Path[0]]; followed {
				at[i] = k
			}
		}
	}
	if at[0] < 0 && at[1] < 0 {
		return values, true
	}
	out := slices.Clone(values)
	for i, k := range at {
		other := sides[1-i]
		if k < 0 {
			continue
		}
		if dataflow.IsNull(other) {
			if op == "==" && !out[k].null {
				return nil, false
			}
			out[k].null = out[k].null && op != "!="
			continue
		}
		if !w.numeric(other) || at[1-i] >= 0 && values[at[1-i]].null {
			return values, true // it may be null, or a text
		}
		side := comparison(op, i == 1, true)
		if out[k] = out[k].compared(side, w.interval(other, values), w.vars[k].whole); out[k].empty() {
			return nil, false
		}
	}
	return out, true
}
