// Which values the names in a condition can have: what the solver knows of
// state keys, outputs, visits and steps where an edge is decided.

package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// site is where conditions are evaluated: after a node, on success or failure.
type site struct {
	f      *facts
	node   *spec.Node
	failed bool
	// words wants to know why, too: Domain.Why where that costs something.
	words bool
}

// why puts into words what is known of the value at a path.
func (s *site) why(path []string, typ eval.Type) string {
	told := *s
	told.words = true
	return told.domain(path, typ).Why
}

// domain is what is known of the value at a path.
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

// failure is what is known of error: after a success there is none.
func (s *site) failure(path []string, typ eval.Type) solve.Domain {
	if !s.failed {
		return solve.Domain{Values: []any{nil}, Why: "error is null after a success, and only edges with condition: on_failure are tried after a failure"}
	}
	if len(path) == 2 && path[1] == "kind" {
		return s.failureKinds()
	}
	d := domain.OfType(typ)
	d.Null = d.Null && (s.node == nil || len(path) > 1)
	return d
}

// failureKinds are the kinds of errors with which the node may fail.
func (s *site) failureKinds() solve.Domain {
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

// keyDomain is the domain of a state key, or of a part of it.
func (s *site) keyDomain(key *spec.StateKey, rest []string, typ eval.Type) solve.Domain {
	if len(rest) == 0 && s.ownWrite(key) {
		if d, ok := s.f.writtenBy(s.node, key.Name.Value); ok && len(d.Values) > 0 {
			d.Why = key.Name.Value + " is " + domain.OneOf(d.Values) + " after " + strconv.Quote(s.node.ID.Value)
			return d
		}
		if d, ok := s.f.rangeWritten(s, key); ok {
			return d
		}
	}
	var d solve.Domain
	if len(rest) == 0 {
		d = s.f.wholeDomain(key)
	} else {
		d = domain.OfSchema(key.Schema, key.Name.Value, rest, typ)
	}
	if len(rest) == 0 && s.writes(key) {
		d.Null = domain.AllowsNull(key.Schema)
	} else if len(rest) == 0 && (key.Required || key.Default != nil && key.Default.Kind != spec.Null) {
		d.Null = domain.AllowsNull(key.Schema)
	}
	return d
}

// ownWrite reports whether the site's node has just written the key, and no
// branch beside it may have done so too.
func (s *site) ownWrite(key *spec.StateKey) bool {
	if !s.writes(key) || !dataflow.Replaces(key) || s.node.OnMaxVisits == "skip" {
		return false
	}
	return s.f.stable([]string{key.Name.Value}, s.node.Index)
}

// stable reports whether no node that may be at work beside v writes any of the keys.
func (f *facts) stable(names []string, v int) bool {
	if w := f.flow(); !w.FansOut && !w.Anywhere {
		return true
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		if key := f.graph.Key(name); key != nil && key.Once {
			return true // models beside it may set it back
		}
		return slices.ContainsFunc(f.writersOf()[name], func(n *spec.Node) bool { return n.Index != v && f.inParallel(v, n.Index) })
	})
}

// wholeDomain is what the schema of a state key says of its value.
func (f *facts) wholeDomain(key *spec.StateKey) solve.Domain {
	d, known := f.keyDomains[key]
	if !known {
		d = domain.OfSchema(key.Schema, key.Name.Value, nil, eval.FromSchema(key.Schema))
		f.keyDomains[key] = d
	}
	return d
}

// writes reports whether every success of the site's node writes the key.
func (s *site) writes(key *spec.StateKey) bool {
	return !s.failed && !s.node.Each.IsSet() && s.f.alwaysWrites(s.node, s.f.keyOf[key.Name.Value])
}

// visits bounds how often a node has run when the site is reached.
func (s *site) visits(id string) solve.Domain {
	d := solve.Domain{Kind: solve.Int, HasMin: true}
	n := s.f.graph.Node(id)
	if n == nil {
		return domain.OfType(eval.Any())
	}
	if limit := n.VisitLimit(s.f.graph); limit > 0 {
		d.Max, d.HasMax = float64(limit), true
	}
	if s.f.passed(n.Index, s.node.Index) {
		d.Min = 1
	}
	if s.words {
		d.Why = domain.RangeWords(solve.PathName([]string{"visits", id}), d) + " here"
	}
	return d
}

// step bounds the number of the step that has just been taken.
func (s *site) step() solve.Domain {
	d := solve.Domain{Kind: solve.Int, HasMin: true}
	if limit := s.f.graph.Limits.MaxSteps; limit > 0 {
		d.Max, d.HasMax = float64(limit), true
	}
	if !s.failed { // a visit that a limit refuses is no step
		d.Min = float64(s.f.leastSteps()[s.node.Index])
	}
	if s.words {
		d.Why = domain.RangeWords("step", d) + " here"
	}
	return d
}

// output is the domain of the node's output, or of a part of it.
func (s *site) output(rest []string, typ eval.Type) solve.Domain {
	if doc := domain.OutputSchema(s.node); doc != nil && !s.node.Each.IsSet() {
		d := domain.OfSchema(doc, "output", rest, typ)
		d.Null = len(rest) > 1 || len(rest) == 1 && !domain.Requires(doc, rest[0]) || domain.AllowsNull(doc)
		return d
	}
	if doc := domain.Yields(s.node, rest); doc != nil && !s.node.Each.IsSet() {
		d := domain.OfSchema(doc, strings.Join(append([]string{"output"}, rest...), "."), nil, typ)
		d.Null = domain.AllowsNull(doc)
		return d
	}
	return domain.OfType(typ)
}

// valid reports whether a value may stand at a path.
func (s *site) valid(path []string, value any) bool {
	var doc map[string]any
	rest := path[1:]
	switch key := s.f.graph.Key(path[0]); {
	case key != nil:
		doc = key.Schema
	case path[0] == "output" && domain.OutputSchema(s.node) != nil:
		doc = domain.OutputSchema(s.node)
	default:
		return true
	}
	name := strings.Join(path, ".")
	if path[0] == "output" {
		name = s.node.ID.Value + "." + name
	}
	compiled, known := s.f.schemas[name]
	if !known {
		if doc = domain.Part(doc, rest); doc != nil {
			compiled, _ = schema.Compile(doc)
		}
		if s.f.schemas == nil {
			s.f.schemas = map[string]*schema.Schema{}
		}
		s.f.schemas[name] = compiled
	}
	return compiled == nil || value == nil || compiled.Check(value) == nil
}
