// The values that nodes are known to write.

package lint

import (
	"strconv"

	"github.com/graphrun/graphrun/internal/bind"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// writersOf lists the nodes that may write each declared key.
func (f *facts) writersOf() map[string][]*spec.Node {
	if f.theWriters != nil {
		return f.theWriters
	}
	f.theWriters = map[string][]*spec.Node{}
	for v, a := range f.access() {
		for i := range a.Writes {
			name, n := a.Writes[i].Name.Value, f.graph.Nodes[v]
			if have := f.theWriters[name]; len(have) == 0 || have[len(have)-1] != n {
				f.theWriters[name] = append(have, n)
			}
		}
	}
	return f.theWriters
}

// writtenBy is the domain of what one node writes to a key.
func (f *facts) writtenBy(n *spec.Node, key string) (solve.Domain, bool) {
	if n.Each.IsSet() {
		return solve.Domain{}, false
	}
	if value := f.boundWrite(n.Index, key); value != nil {
		if p := value.Program(); p != nil && p.Tree().Op == eval.TreePath && p.Tree().Path[0] == "output" {
			return outputDomain(n, p.Tree().Path[1:])
		}
		return scalarsOf(value)
	}
	if d, ok := outputDomain(n, []string{key}); ok {
		return d, true
	}
	if len(n.Writes.Keys) == 1 && domain.Subschema(n.Output, key) == nil {
		return outputDomain(n, nil)
	}
	return solve.Domain{}, false
}

// rangeWritten is the domain of a number that the site's node has written: sums and
// products of what schemas bound, within the bounds of the key's own.
func (f *facts) rangeWritten(s *site, key *spec.StateKey) (solve.Domain, bool) {
	d, name := f.wholeDomain(key), key.Name.Value
	value := f.boundWrite(s.node.Index, name)
	if s.node.Each.IsSet() || d.Values != nil || d.Kind != solve.Int && d.Kind != solve.Number || value == nil || value.Program() == nil {
		return d, false
	}
	known, ok := solve.Interval(value.Program().Tree(), func(path []string, typ eval.Type) solve.Domain {
		switch read := f.graph.Key(path[0]); {
		case read != nil && len(path) == 1 && dataflow.Replaces(read): // what the node sets before fits, too, or it fails
			return f.wholeDomain(read)
		case path[0] == "output":
			return s.output(path[1:], typ)
		}
		return domain.OfType(typ)
	})
	if !ok {
		return d, false
	}
	if known.HasMin && (!d.HasMin || known.Min > d.Min) {
		d.Min, d.HasMin = known.Min, true
	}
	if known.HasMax && (!d.HasMax || known.Max < d.Max) {
		d.Max, d.HasMax = known.Max, true
	}
	d.Null = domain.AllowsNull(key.Schema)
	d.Why = domain.RangeWords(name, d) + " after " + strconv.Quote(s.node.ID.Value)
	return d, true
}

// outputDomain is what is known of a part of a node's output from its
// declaration.
func outputDomain(n *spec.Node, rest []string) (solve.Domain, bool) {
	doc := domain.Yields(n, rest)
	if doc == nil {
		return solve.Domain{}, false
	}
	d := domain.OfSchema(doc, "", nil, eval.Any())
	d.Null = domain.AllowsNull(doc)
	return d, true
}

// scalarsOf returns the scalars that a bound value is one of.
func scalarsOf(b *bind.Value) (solve.Domain, bool) {
	if b.IsConst() {
		return domain.OfValues([]any{b.Const()})
	}
	return domain.OfChoice(b.Program())
}
