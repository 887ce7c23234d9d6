// What bounds a cycle: visit limits, people, and conditions that count.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/spec"
)

// passesTime says why a cycle can't go round for ever through a node: a person is
// asked there who has all the time there is, or time passes of which the run has only
// so much; "" when neither is so.
func (f *facts) passesTime(n *spec.Node) string {
	switch {
	case n.Kind.Value == "human" && (n.Timeout == 0 || n.Field("default") == nil || f.defaultLeaves(n)):
		return "the person asked at " + n.ID.Value
	case n.Kind.Value == "wait" && f.graph.Limits.Timeout > 0:
		return "limits.timeout, by the time that passes at " + n.ID.Value
	}
	return ""
}

// defaultLeaves reports whether the answer for an absent person leads out of the cycles
// of a node: no edge that stays on them fires then.
func (f *facts) defaultLeaves(n *spec.Node) bool {
	answer := n.Field("default").Data()
	env := map[string]any{"output": answer}
	if len(n.Writes.Keys) == 1 {
		env[n.Writes.Keys[0].Value] = answer
	}
	var vm eval.VM
	for i, e := range f.graph.Edges {
		if e.From.Value != n.ID.Value || !f.inCycle(n.Index, f.flow().To[i]) || e.Condition == "on_failure" {
			continue
		}
		when := f.bound.Edges[i].When
		if when == nil || slices.ContainsFunc(when.Reads(), func(r eval.Read) bool { _, known := env[r.Path[0]]; return !known }) {
			return false
		}
		if stays, err := vm.Test(when, env); err != nil || stays {
			return false
		}
	}
	return true
}

// inCycle reports whether t lies on the cycles of v.
func (f *facts) inCycle(v, t int) bool {
	w := f.flow()
	return t < len(f.graph.Nodes) && w.SCC[t] == w.SCC[v]
}

// counters lists for each component the state keys that its nodes count with:
// numbers that a node computes from their own value or that a program sets,
// lists that it changes, and keys whose reducer accumulates. They are sorted. With
// unsure, only those are listed of which nobody can tell how they change.
func (f *facts) counters(unsure bool) [][]int {
	w := f.flow()
	out := make([][]int, len(w.SCC))
	if !slices.Contains(w.Cyclic, true) {
		return out
	}
	sure := make([][]int, len(w.SCC))
	for v, a := range f.access() {
		if !w.Cyclic[v] {
			continue
		}
		for i := range a.Writes {
			c, key := w.SCC[v], a.Writes[i].Key
			if !f.isCounter(v, &a.Writes[i]) {
				continue
			}
			switch {
			case !unsure || !f.isPlain(v, &a.Writes[i]):
				out[c] = append(out[c], key)
			case f.change(v, key, !f.isNumeric(key)).direction != 0:
				sure[c] = append(sure[c], key)
			}
		}
	}
	all := make([][]int, len(out))
	for i := range out {
		slices.Sort(out[i])
		out[i] = slices.Compact(out[i])
		all[i] = slices.Concat(out[i], sure[i])
		slices.Sort(all[i])
		all[i] = slices.Compact(all[i])
	}
	for f.deriveCounters(all) {
	}
	for i := range all {
		out[i] = slices.DeleteFunc(all[i], func(key int) bool { return slices.Contains(sure[i], key) && !slices.Contains(out[i], key) })
	}
	return out
}

func (f *facts) isNumeric(key int) bool {
	typ := eval.FromSchema(f.graph.State[key].Schema).String()
	return typ == "integer" || typ == "number"
}

// deriveCounters adds the keys that a node computes from counters; false when
// there are no more.
func (f *facts) deriveCounters(counters [][]int) (added bool) {
	w := f.flow()
	for v, a := range f.access() {
		if !w.Cyclic[v] {
			continue
		}
		of := &counters[w.SCC[v]]
		for i := range a.Writes {
			value := a.Writes[i].Value
			at, known := slices.BinarySearch(*of, a.Writes[i].Key)
			if value == nil || known {
				continue
			}
			if slices.ContainsFunc(value.Reads(), func(r eval.Read) bool { return f.isAmong(r.Path[0], *of) }) {
				*of, added = slices.Insert(*of, at, a.Writes[i].Key), true
			}
		}
	}
	return added
}

// isPlain reports whether it can be told how a write changes its key: it adds to the
// value, or takes away, or makes another of it that depends on nothing else.
func (f *facts) isPlain(v int, w *dataflow.Write) bool {
	key, number := f.graph.State[w.Key], f.isNumeric(w.Key)
	value := f.boundWrite(v, key.Name.Value)
	switch {
	case !f.change(v, w.Key, !number).unknown || value != nil && value.IsConst():
		return true
	case value == nil || value.Program() == nil || !number:
		return false
	}
	return !slices.ContainsFunc(value.Program().Reads(), func(r eval.Read) bool { return r.Path[0] != key.Name.Value })
}

func (f *facts) isCounter(v int, w *dataflow.Write) bool {
	key, n := f.graph.State[w.Key], f.graph.Nodes[v]
	typ, number := eval.FromSchema(key.Schema), f.isNumeric(w.Key)
	switch {
	case !dataflow.Replaces(key):
		return number || typ.IsList() || key.Reducer.Value == "append"
	case w.Value != nil && dataflow.ReadsKey(w.Value, key.Name.Value):
		return true
	case isModel(n), n.Kind.Value == "human": // they don't count
		return false
	case typ.IsList():
		return true
	case !number:
		return false
	case n.Kind.Value == "set":
		return w.Value != nil && dataflow.AsksProgress(w.Value)
	}
	if typ.String() == "integer" {
		return true
	}
	for _, u := range f.uses().OfNode(v) {
		if dataflow.ReadsKey(u.Program, key.Name.Value) {
			return true
		}
	}
	return false
}

// counting judges conditions by what the cycles of a node count with.
type counting struct {
	f    *facts
	keys []int
}

// mentions reports whether a program reads a counter.
func (c *counting) mentions(p *eval.Program) bool {
	return p != nil && slices.ContainsFunc(p.Reads(), func(r eval.Read) bool { return c.f.isAmong(r.Path[0], c.keys) })
}

// isAmong reports whether a name is one of the state keys of a sorted list.
func (f *facts) isAmong(name string, keys []int) bool {
	key, ok := f.keyOf[name]
	if !ok {
		return false
	}
	_, found := slices.BinarySearch(keys, key)
	return found
}

// ends reports whether counting may bring a condition to the wanted value.
func (c *counting) ends(t *eval.Tree, want bool) bool {
	switch {
	case t.Op == eval.TreeUnary && t.Name == "not":
		return c.ends(t.Args[0], !want)
	case t.Op == eval.TreeBinary && (t.Name == "and" || t.Name == "or"):
		left, right := c.ends(t.Args[0], want), c.ends(t.Args[1], want)
		if (t.Name == "and") == want {
			return left && right
		}
		return left || right
	}
	found := false // of a part that can't be looked into that is assumed
	t.Each(func(p *eval.Tree) {
		found = found || p.Op == eval.TreeOther || p.Op == eval.TreePath && c.f.isAmong(p.Path[0], c.keys)
	})
	return found
}

// visitLimits returns the limits of visits by node; 0: none.
func (f *facts) visitLimits() []int {
	out := make([]int, len(f.graph.Nodes))
	for v, n := range f.graph.Nodes {
		out[v] = n.VisitLimit(f.graph)
	}
	return out
}
