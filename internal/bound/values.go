// Numbers that conditions compare, followed as intervals: state keys, visits, the step.

package bound

import (
	"math"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// interval holds the numbers from lo to hi. Anything is possible while a value may be
// null.
type interval struct{ lo, hi float64 }

var anyNumber = interval{math.Inf(-1), math.Inf(1)}

// hull returns the smallest interval around some numbers.
func hull(numbers ...float64) interval {
	a := interval{slices.Min(numbers), slices.Max(numbers)}
	if math.IsNaN(a.lo) || math.IsNaN(a.hi) {
		return anyNumber
	}
	return a
}

// variable is a number that is followed.
type variable struct {
	key    *spec.StateKey // nil for visits and the step
	schema interval
}

// keep returns an interval as far as its ends are told apart.
func (w *walk) keep(a interval) interval {
	if a.lo > a.hi {
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

// tellApart makes the walk tell apart numbers up to a constant.
func (w *walk) tellApart(n float64) {
	if math.Abs(n) <= maxCounted {
		w.far = max(w.far, math.Ceil(math.Abs(n))+2)
	}
}

// findVariables collects the visits that conditions read and, if keys is set, the state
// keys that they read and those from which these are computed.
func (w *walk) findVariables(keys bool) {
	w.vars, w.varOf, w.far = nil, map[string]int{}, 0
	var todo []eval.Read
	read := func(p *eval.Program) {
		if p != nil {
			todo = append(todo, p.Reads()...)
			p.Tree().Each(func(t *eval.Tree) {
				if n, ok := number(t); ok {
					w.tellApart(n)
				}
			})
		}
	}
	for i := range w.bound.Edges {
		read(w.bound.Edges[i].When)
	}
	for v, n := range w.Source.Nodes {
		if w.limit[v] > 0 {
			w.far = max(w.far, float64(w.limit[v]))
			todo = append(todo, eval.Read{Path: []string{"visits", n.ID.Value}})
		}
	}
	keys = keys && slices.Contains(w.Cyclic, true)
	for ; len(todo) > 0; todo = todo[1:] {
		name := variableName(todo[0].Path)
		if _, known := w.varOf[name]; known || name == "" {
			continue
		}
		v := variable{key: w.Source.Key(name)}
		if v.key != nil {
			d := domain.OfSchema(v.key.Schema, name, nil, eval.FromSchema(v.key.Schema))
			kind := eval.FromSchema(v.key.Schema).String()
			if !keys || kind != "integer" && kind != "number" || v.key.Once || domain.AllowsNull(v.key.Schema) {
				continue
			}
			v.schema = anyNumber
			if d.HasMin {
				v.schema.lo = d.Min
				w.tellApart(d.Min)
			}
			if d.HasMax {
				v.schema.hi = d.Max
				w.tellApart(d.Max)
			}
			for u := range w.Source.Nodes {
				if value := w.writeOf(u, name); value != nil {
					read(value.Program())
				}
			}
		}
		w.varOf[name], w.vars = len(w.vars), append(w.vars, v)
	}
}

// variableName returns the variable that a path reads, or "".
func variableName(path []string) string {
	switch {
	case len(path) == 1 && path[0] != "visits":
		return path[0]
	case len(path) == 2 && path[0] == "visits", len(path) == 3 && path[0] == "nodes" && path[2] == "visits":
		return "visits." + path[1]
	}
	return ""
}

// writeOf returns the value that a node writes to a key, or nil.
func (w *walk) writeOf(v int, name string) *bind.Value {
	b := &w.bound.Nodes[v]
	fields := b.Writes
	if w.Source.Nodes[v].Kind.Value == "set" {
		fields = b.Set
	}
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i].Value
		}
	}
	return nil
}

// valuesAt returns the values with which a run reaches its start or, if entered is set, a
// cycle with nodes that it has not visited.
func (w *walk) valuesAt(entered bool, inside func(v int) bool) []interval {
	out := make([]interval, len(w.vars))
	for name, i := range w.varOf { //lint:ignore mapiter each by itself
		key := w.vars[i].key
		n := w.Source.Node(strings.TrimPrefix(name, "visits."))
		switch {
		case key != nil && (entered && !dataflow.Replaces(key) || mayLack(key)):
			out[i] = anyNumber
		case key != nil:
			out[i] = w.keep(w.vars[i].schema)
		case entered && (n == nil || !inside(n.Index)):
			out[i].hi = math.Inf(1)
		}
	}
	return out
}

// mayLack reports whether a run may begin without a value of a key.
func mayLack(key *spec.StateKey) bool {
	return !key.Required && (key.Default == nil || key.Default.Kind == spec.Null)
}

// counted returns the values once a node has begun a visit, or was skipped.
func (w *walk) counted(v int, values []interval, visit bool) []interval {
	out := slices.Clone(values)
	for _, name := range []string{"step", "visits." + w.Name(v)} {
		if i, known := w.varOf[name]; known && (visit || name == "step") {
			out[i] = w.keep(interval{out[i].lo + 1, out[i].hi + 1})
		}
	}
	return out
}

// written returns the values once a node has succeeded.
func (w *walk) written(v int, from []interval) []interval {
	n := w.Source.Nodes[v]
	to, seen := slices.Clone(from), slices.Clone(from)
	for i := range seen {
		if w.vars[i].key == nil { // the count may include this visit
			seen[i] = anyNumber
		}
	}
	writes := map[string]int{}
	for _, one := range w.access[v].Writes {
		writes[one.Name.Value]++
	}
	for _, one := range w.access[v].Writes {
		i, followed := w.varOf[one.Name.Value]
		if !followed {
			continue
		}
		of, before, value := &w.vars[i], to[i], anyNumber
		if writes[one.Name.Value] == 1 && !n.Each.IsSet() {
			value = w.valueOf(w.writeOf(v, one.Name.Value), seen)
		}
		after := anyNumber
		switch {
		case dataflow.Replaces(of.key):
			value = interval{max(value.lo, of.schema.lo), min(value.hi, of.schema.hi)}
			seen[i], to[i] = w.keep(value), w.keep(value)
			if n.Each.IsSet() {
				to[i] = w.keep(hull(value.lo, value.hi, before.lo, before.hi))
			}
			continue
		case of.key.Reducer.Value == "sum":
			after = hull(before.lo+value.lo, before.hi+value.hi)
		}
		seen[i], to[i] = anyNumber, w.keep(after)
	}
	return to
}

func (w *walk) valueOf(value *bind.Value, values []interval) interval {
	if value != nil && value.Program() != nil {
		return w.interval(value.Program().Tree(), values)
	}
	if value != nil && value.IsConst() {
		return w.interval(&eval.Tree{Op: eval.TreeConst, Value: value.Const()}, values)
	}
	return anyNumber
}

// number returns a constant number, perhaps with a minus before it.
func number(t *eval.Tree) (float64, bool) {
	if t.Op == eval.TreeUnary && t.Name == "-" {
		n, ok := number(t.Args[0])
		return -n, ok
	}
	return eval.Number(t.Value)
}

// interval bounds the value of an expression, unless it is null.
func (w *walk) interval(t *eval.Tree, values []interval) interval {
	if n, ok := number(t); ok {
		return hull(n)
	}
	if t.Op == eval.TreePath {
		if i, followed := w.varOf[variableName(t.Path)]; followed {
			return values[i]
		}
	}
	if len(t.Args) != 2 {
		return anyNumber
	}
	a, b := w.interval(t.Args[0], values), w.interval(t.Args[1], values)
	switch t.Name {
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
		return hull(a.lo, a.hi, b.lo, b.hi)
	}
	return anyNumber
}

// decided returns the outcome of a condition, if the values decide it.
func (w *walk) decided(t *eval.Tree, values []interval) (holds, known bool) {
	switch {
	case t.Op == eval.TreeConst:
		holds, known = t.Value.(bool)
		return holds, known
	case t.Op == eval.TreeUnary && t.Name == "not":
		holds, known = w.decided(t.Args[0], values)
		return !holds, known
	case t.Op != eval.TreeBinary:
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
	below, atMost, above, atLeast := a.hi < b.lo, a.hi <= b.lo, a.lo > b.hi, a.lo >= b.hi
	same := a.lo == b.hi && a.hi == b.lo
	switch t.Name {
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
