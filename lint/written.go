// The values that nodes are known to write: what people mean by a key that is
// declared wider than it is used.

package lint

import (
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// written is the domain of a key by what is written to it: by the site's own
// node if it always writes the key, else by all nodes of a key that is no input.
func (s *site) written(key *spec.StateKey) (solve.Domain, bool) {
	name := key.Name.Value
	if key.Reducer.IsSet() && key.Reducer.Value != "replace" {
		return solve.Domain{}, false
	}
	if !s.failed && writesKey(s.node, name) {
		return s.f.writtenBy(s.node, name)
	}
	if key.Required || key.Default != nil {
		return solve.Domain{}, false
	}
	var all solve.Domain
	for _, n := range s.f.writersOf()[name] {
		d, ok := s.f.writtenBy(n, name)
		if !ok || d.Values == nil {
			return solve.Domain{}, false
		}
		all.Values = append(all.Values, d.Values...)
	}
	return all, len(all.Values) > 0
}

// writersOf lists the nodes that may write each key.
func (f *facts) writersOf() map[string][]*spec.Node {
	if f.theWriters != nil {
		return f.theWriters
	}
	f.theWriters = map[string][]*spec.Node{}
	add := func(key string, n *spec.Node) {
		if have := f.theWriters[key]; len(have) == 0 || have[len(have)-1] != n {
			f.theWriters[key] = append(have, n)
		}
	}
	for _, n := range f.graph.Nodes {
		for _, k := range n.Writes.Keys {
			add(k.Value, n)
		}
		for _, e := range n.Writes.Exprs {
			add(e.Name.Value, n)
		}
		if set := n.Field("set"); n.Kind.Value == "set" && set != nil {
			for i := range set.Fields {
				add(set.Fields[i].Key.Value, n)
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
	b := &f.bound.Nodes[n.Index]
	if n.Kind.Value == "set" {
		for i := range b.Set {
			if b.Set[i].Name != key {
				continue
			}
			if b.Set[i].Value.IsConst() {
				return domain.OfValues([]any{b.Set[i].Value.Const()})
			}
			return domain.OfChoice(b.Set[i].Value.Program())
		}
	}
	for i := range b.Writes {
		if b.Writes[i].Name != key {
			continue
		}
		p := b.Writes[i].Value.Program()
		if p == nil {
			return solve.Domain{}, false
		}
		tree := p.Tree()
		if tree.Op == eval.TreePath && tree.Path[0] == "output" {
			return outputDomain(n, tree.Path[1:])
		}
		return domain.OfChoice(p)
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
	if s.node.Each.IsSet() || d.Values != nil || d.Kind != solve.Int && d.Kind != solve.Number {
		return d, false
	}
	var p *eval.Program
	b := &f.bound.Nodes[s.node.Index]
	values := b.Writes
	if s.node.Kind.Value == "set" {
		values = b.Set
	}
	for i := range values {
		if values[i].Name == name {
			p = values[i].Value.Program()
			break
		}
	}
	if p == nil {
		return d, false
	}
	known, ok := solve.Interval(p.Tree(), func(path []string, typ eval.Type) solve.Domain {
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
	doc := outputSchema(n)
	if doc == nil {
		return undeclaredOutput(n, rest)
	}
	for _, part := range rest {
		if doc = domain.Subschema(doc, part); doc == nil {
			return solve.Domain{}, false
		}
	}
	d := domain.OfSchema(doc, "", nil, eval.Any())
	d.Null = domain.AllowsNull(doc)
	return d, true
}

// outputSchema is the schema of what a node yields; nil when it declares none.
// That of a model with tools is about the content only.
func outputSchema(n *spec.Node) map[string]any {
	if n.Kind.Value == "llm" && n.Field("tools") != nil {
		return nil
	}
	return n.Output
}

// undeclaredOutput is what kinds that declare no output schema yield.
func undeclaredOutput(n *spec.Node, rest []string) (solve.Domain, bool) {
	switch kind := n.Kind.Value; {
	case kind == "human" && len(rest) == 0:
		return humanAnswers(n)
	case kind == "http" && slices.Equal(rest, []string{"status"}):
		if expect := n.Field("expect"); expect != nil && expect.Kind == spec.List {
			return domain.OfValues(expect.Data().([]any))
		}
		return solve.Domain{Kind: solve.Int, Min: 200, Max: 299, HasMin: true, HasMax: true}, true
	case kind == "graph" && slices.Equal(rest, []string{"status"}):
		return solve.Domain{Values: []any{"completed"}}, true
	case kind == "graph" && slices.Equal(rest, []string{"quality"}):
		return solve.Domain{Values: []any{"clean", "degraded"}}, true
	}
	return solve.Domain{}, false
}

// humanAnswers are the answers that a person may give.
func humanAnswers(n *spec.Node) (solve.Domain, bool) {
	if choices := n.Field("choices"); choices != nil && choices.Kind == spec.List {
		values := choices.Data().([]any)
		if d := n.Field("default"); d != nil {
			values = append(values, d.Data())
		}
		return domain.OfValues(values)
	}
	if doc := n.Field("schema"); doc != nil && doc.Kind == spec.Map {
		if m, ok := doc.Data().(map[string]any); ok {
			return domain.OfSchema(m, "", nil, eval.Any()), true
		}
	}
	return solve.Domain{}, false
}
