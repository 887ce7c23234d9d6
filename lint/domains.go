// The values that the names in a condition can have where an edge is decided.

package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// site is where conditions are evaluated: after a node, on success or failure. Without a
// node it is any failure.
type site struct {
	f      *facts
	node   *spec.Node
	failed bool
}

// domain returns the values that a path may have, as far as they are known.
func (s *site) domain(path []string, typ eval.Type) solve.Domain {
	if key := s.f.graph.Key(path[0]); key != nil {
		return s.keyDomain(key, path[1:], typ)
	}
	switch path[0] {
	case "visits":
		if len(path) == 2 {
			return s.visits(path[1])
		}
	case "step":
		return s.step()
	case "node":
		return solve.Domain{Values: []any{s.node.ID.Value}}
	case "outcome":
		if s.failed {
			return solve.Domain{Values: []any{"failure"}, Why: `outcome is "failure" here`}
		}
		return solve.Domain{Values: []any{"success"}, Why: `outcome is "success" here: only edges with condition: on_failure are tried after a failure`}
	case "output":
		if !s.failed {
			return s.output(path[1:], typ)
		}
	case "error":
		return s.failure(path, typ)
	}
	return domain.OfType(typ)
}

// failure returns the domain of error, which is null after a success.
func (s *site) failure(path []string, typ eval.Type) solve.Domain {
	if !s.failed {
		return solve.Domain{Values: []any{nil}, Why: "error is null after a success, and only edges with condition: on_failure are tried after a failure"}
	}
	if len(path) != 2 || path[1] != "kind" {
		d := domain.OfType(typ)
		d.Null = d.Null && (s.node == nil || len(path) > 1)
		return d
	}
	d := solve.Domain{Why: "error.kind is one of the kinds of failures"}
	if s.node != nil {
		d.Why = "error.kind is one of those in which " + s.node.Kind.Value + " nodes fail"
	}
	for _, kind := range spec.FailureKinds() {
		if s.node == nil || s.node.FailsAs(kind) {
			d.Values = append(d.Values, kind)
		}
	}
	return d
}

// keyDomain returns the domain of a state key, or of a part of it.
func (s *site) keyDomain(key *spec.StateKey, rest []string, typ eval.Type) solve.Domain {
	if len(rest) > 0 {
		return domain.OfSchema(key.Schema, key.Name.Value, rest, typ)
	}
	written := !s.failed && !s.node.Each.IsSet() && s.f.alwaysWrites(s.node, s.f.keyOf[key.Name.Value])
	if written && dataflow.Replaces(key) && s.node.OnMaxVisits != "skip" && s.f.isStable(key, s.node.Index) {
		if d, ok := s.f.writtenBy(s.node, key.Name.Value); ok && len(d.Values) > 0 {
			d.Why = key.Name.Value + " is " + domain.OneOf(d.Values) + " after " + strconv.Quote(s.node.ID.Value)
			return d
		}
	}
	d := s.f.wholeDomain(key)
	if written || key.Required || key.Default != nil && key.Default.Kind != spec.Null {
		d.Null = domain.AllowsNull(key.Schema)
	}
	return d
}

// wholeDomain returns what the schema of a state key says of its value.
func (f *facts) wholeDomain(key *spec.StateKey) solve.Domain {
	return domain.OfSchema(key.Schema, key.Name.Value, nil, eval.FromSchema(key.Schema))
}

// isStable reports whether no node that may be at work beside v writes a key.
func (f *facts) isStable(key *spec.StateKey, v int) bool {
	if w := f.flow(); !w.FansOut && !w.Anywhere {
		return true
	}
	return !key.Once && // else models beside it may set it back
		!slices.ContainsFunc(f.writersOf()[key.Name.Value], func(n *spec.Node) bool { return n.Index != v && f.inParallel(v, n.Index) })
}

// visits bounds how often a node has run when the site is reached.
func (s *site) visits(id string) solve.Domain {
	n := s.f.graph.Node(id)
	if n == nil {
		return domain.OfType(eval.Any())
	}
	d := solve.Domain{Kind: solve.Int, HasMin: true}
	if limit := n.VisitLimit(s.f.graph); limit > 0 {
		d.Max, d.HasMax = float64(limit), true
	}
	if n == s.node || !s.f.flow().Anywhere && s.f.flow().Dominators().Covers(n.Index, s.node.Index) {
		d.Min = 1
	}
	d.Why = domain.RangeWords(solve.PathName([]string{"visits", id}), d) + " here"
	return d
}

// step bounds the number of the step that was just taken.
func (s *site) step() solve.Domain {
	d := solve.Domain{Kind: solve.Int, HasMin: true}
	if limit := s.f.graph.Limits.MaxSteps; limit > 0 {
		d.Max, d.HasMax = float64(limit), true
	}
	if !s.failed { // a visit that a limit refuses is not a step
		d.Min = float64(s.f.leastSteps()[s.node.Index])
	}
	d.Why = domain.RangeWords("step", d) + " here"
	return d
}

// output returns the domain of the node's output, or of a part of it.
func (s *site) output(rest []string, typ eval.Type) solve.Domain {
	if s.node.Each.IsSet() {
		return domain.OfType(typ)
	}
	doc := domain.Yields(s.node, rest)
	if doc == nil {
		return domain.OfType(typ)
	}
	d := domain.OfSchema(doc, strings.Join(append([]string{"output"}, rest...), "."), nil, typ)
	d.Null = domain.AllowsNull(doc)
	if whole := domain.OutputSchema(s.node); whole != nil {
		d.Null = d.Null || len(rest) > 1 || len(rest) == 1 && !domain.Requires(whole, rest[0]) || domain.AllowsNull(whole)
	}
	return d
}

// writtenBy returns the domain of what one node writes to a key.
func (f *facts) writtenBy(n *spec.Node, key string) (solve.Domain, bool) {
	if value := f.boundWrite(n.Index, key); value != nil {
		switch p := value.Program(); {
		case value.IsConst():
			return domain.OfValues([]any{value.Const()})
		case p != nil && p.Tree().Op == eval.TreePath && p.Tree().Path[0] == "output":
			return outputDomain(n, p.Tree().Path[1:])
		default:
			return domain.OfChoice(p)
		}
	}
	if d, ok := outputDomain(n, []string{key}); ok {
		return d, true
	}
	if len(n.Writes.Keys) == 1 && domain.Subschema(n.Output, key) == nil {
		return outputDomain(n, nil)
	}
	return solve.Domain{}, false
}

// outputDomain returns what a node declares of a part of its output.
func outputDomain(n *spec.Node, rest []string) (solve.Domain, bool) {
	doc := domain.Yields(n, rest)
	if doc == nil {
		return solve.Domain{}, false
	}
	d := domain.OfSchema(doc, "", nil, eval.Any())
	d.Null = domain.AllowsNull(doc)
	return d, true
}
