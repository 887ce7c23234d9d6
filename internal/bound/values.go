// Intervals of the numbers that conditions compare: state keys, visits and the step.

package bound

import (
	"math"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// interval holds the numbers from lo to hi. A value that may be null has the interval of any number.
type interval struct{ lo, hi float64 }

var anyNumber = interval{math.Inf(-1), math.Inf(1)}

// toInterval returns the bounds of a domain.
func toInterval(d solve.Domain) interval {
	out := anyNumber
	if d.HasMin {
		out.lo = d.Min
	}
	if d.HasMax {
		out.hi = d.Max
	}
	return out
}

// variable is a number with an interval at each step.
type variable struct {
	name   string         // as nameVariable returns it
	key    *spec.StateKey // nil for visits and the step
	schema interval
}

// clamp widens an interval beyond w.far to infinity.
func (w *walk) clamp(a interval) interval {
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

// maxCounted is the largest constant that distinguishUpTo accepts.
const maxCounted = 1000

// distinguishUpTo makes clamp keep numbers up to a constant.
func (w *walk) distinguishUpTo(n float64) {
	if math.Abs(n) <= maxCounted {
		w.far = max(w.far, math.Ceil(math.Abs(n))+2)
	}
}

// findVariables collects the visits that conditions read. In graphs with cycles it also collects
// state keys, and the keys from which these are computed.
func (w *walk) findVariables() {
	w.vars, w.varOf, w.far = nil, map[string]int{}, 0
	var todo []eval.Read
	read := func(p *eval.Program) {
		if p != nil {
			todo = append(todo, p.Reads...)
			p.Tree.Each(func(t *eval.Tree) {
				if n, ok := eval.Number(t.Value); ok {
					w.distinguishUpTo(n)
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
	keys := slices.Contains(w.Cyclic, true)
	for ; len(todo) > 0; todo = todo[1:] {
		name := nameVariable(todo[0].Path)
		v := variable{name: name, key: w.Source.Key(name)}
		if _, known := w.varOf[name]; known || v.key == nil && name != "step" && !strings.HasPrefix(name, "visits.") {
			continue
		}
		if v.key != nil {
			d := domain.OfSchema(v.key.Schema, name, nil, eval.FromSchema(v.key.Schema))
			kind := eval.FromSchema(v.key.Schema).String()
			if !keys || kind != "integer" && kind != "number" || v.key.Once || domain.AllowsNull(v.key.Schema) {
				continue
			}
			v.schema = toInterval(d)
			w.distinguishUpTo(v.schema.lo)
			w.distinguishUpTo(v.schema.hi)
			for u := range w.Source.Nodes {
				if value := dataflow.FindWrite(&w.bound.Nodes[u], name); value != nil {
					read(value.Program)
				}
			}
		}
		w.varOf[name], w.vars = len(w.vars), append(w.vars, v)
	}
}

// nameVariable returns the variable that a path reads, or "".
func nameVariable(path []string) string {
	switch {
	case len(path) == 1 && path[0] != "visits":
		return path[0]
	case len(path) == 2 && path[0] == "visits", len(path) == 3 && path[0] == "nodes" && path[2] == "visits":
		return "visits." + path[1]
	}
	return ""
}

// initialValues returns the values at the start of a run, or on entry to an unvisited cycle.
func (w *walk) initialValues(entered bool, inside func(v int) bool) []interval {
	out := make([]interval, len(w.vars))
	for i, v := range w.vars {
		n := w.Source.Node(strings.TrimPrefix(v.name, "visits."))
		switch {
		case v.key != nil && (entered && !dataflow.Replaces(v.key) || !v.key.Required && (v.key.Default == nil || v.key.Default.Kind == spec.Null)):
			out[i] = anyNumber
		case v.key != nil:
			out[i] = w.clamp(v.schema)
		case entered && (n == nil || !inside(n.Index)):
			out[i].hi = math.Inf(1)
		}
	}
	return out
}

// countVisit returns the values after a node has begun a visit, or was skipped.
func (w *walk) countVisit(v int, values []interval, visit bool) []interval {
	out := slices.Clone(values)
	for _, name := range []string{"step", "visits." + w.Name(v)} {
		if i, known := w.varOf[name]; known && (visit || name == "step") {
			out[i] = w.clamp(interval{out[i].lo + 1, out[i].hi + 1})
		}
	}
	return out
}

// applyWrites returns the values after a node has succeeded.
func (w *walk) applyWrites(v int, from []interval) []interval {
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
			if t := dataflow.FindWrite(&w.bound.Nodes[v], one.Name.Value).Tree(); t != nil {
				if d, ok := solve.Interval(t, w.newDomains(seen)); ok {
					value = toInterval(d)
				}
			}
		}
		after := anyNumber
		switch {
		case dataflow.Replaces(of.key):
			value = interval{max(value.lo, of.schema.lo), min(value.hi, of.schema.hi)}
			seen[i], to[i] = w.clamp(value), w.clamp(value)
			if n.Each.IsSet() {
				to[i] = w.clamp(interval{min(value.lo, before.lo), max(value.hi, before.hi)})
			}
			continue
		case of.key.Reducer.Value == "sum":
			after = interval{before.lo + value.lo, before.hi + value.hi}
		}
		seen[i], to[i] = anyNumber, w.clamp(after)
	}
	return to
}

// newDomains returns the domains of paths in expressions for some values.
func (w *walk) newDomains(values []interval) func(path []string, typ eval.Type) solve.Domain {
	return func(path []string, typ eval.Type) solve.Domain {
		d := domain.OfType(typ)
		if i, followed := w.varOf[nameVariable(path)]; followed && values[i] != anyNumber {
			d = solve.Domain{Kind: solve.Number}
			if lo := values[i].lo; !math.IsInf(lo, 0) {
				d.Min, d.HasMin = lo, true
			}
			if hi := values[i].hi; !math.IsInf(hi, 0) {
				d.Max, d.HasMax = hi, true
			}
			if key := w.vars[i].key; key == nil || key.Schema["type"] == "integer" {
				d.Kind = solve.Int
			}
		}
		return d
	}
}

// decideCondition reports whether a condition may be true, and whether it may be false. Nil may be both.
func (w *walk) decideCondition(when *eval.Program, domain func([]string, eval.Type) solve.Domain) (yes, no bool) {
	may := func(holds bool) bool {
		return when == nil || w.solver.CanHold([]solve.Claim{{Tree: when.Tree, Holds: holds}}, domain)
	}
	return may(true), may(false)
}
