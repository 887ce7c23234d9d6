// Decisions that come out otherwise: the conditions behind an execution, and those
// before it that they hang together with, solved over what the run has chosen.

package flowtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// flips plan runs in which one decision comes out otherwise, those before it as they
// did.
func (s *search) flips(t *tried) {
	at := newSymbols(s.graph, t)
	var past []claim
	way := ""
	for i := range t.history {
		h := &t.history[i]
		at.step(i)
		n := s.graph.Node(h.Node)
		if n == nil {
			return
		}
		guards := decisionOf(s.graph, n, h.Error != nil)
		came := s.outcomes(at, i, n, guards)
		for k := range len(guards) + 1 {
			edge := -1
			if k < len(guards) {
				edge = guards[k].Index
			}
			if edge >= 0 && slices.Contains(h.Edges, edge) || edge < 0 && len(guards) == 0 || s.aim != nil && !s.aim.near(i) {
				continue
			}
			if h.Visit > maxAgain && edge >= 0 && s.fired[edge] {
				continue // round and round
			}
			goal := way + fmt.Sprint(h.Node, h.Error != nil, edge)
			if s.flipped[goal] || len(s.flipped) > s.mostFlips {
				continue
			}
			s.flipped[goal] = true
			s.flip(t, at, i, past, wanted(came, k, n.Routing == "all"), edge)
		}
		past = append(past, asked(came, n.Routing == "all")...)
		way += fmt.Sprint(h.Node, h.Error != nil, h.Edges, ";")
	}
}

// claim is a condition over symbols, and how it has come out.
type claim struct {
	text  string
	holds bool
	names []string // that it reads
}

func newClaim(text string, holds bool) claim { return claim{text, holds, namesIn(text)} }

func (c claim) String() string {
	if c.holds {
		return "(" + c.text + ")"
	}
	return "not (" + c.text + ")"
}

// outcomes are the conditions behind an execution as they came out.
func (s *search) outcomes(at *symbols, i int, n *spec.Node, guards []*spec.Edge) []claim {
	var out []claim
	fired := at.run.history[i].Edges
	for _, e := range guards {
		holds := slices.Contains(fired, e.Index)
		out = append(out, newClaim(at.guard(i, e.When.Value), holds))
		if holds && n.Routing != "all" {
			for _, e := range guards[len(out):] { // not asked
				out = append(out, newClaim(at.guard(i, e.When.Value), false))
			}
			return out
		}
	}
	return out
}

// asked are the conditions of a decision that were looked at: up to the one that
// held, or all.
func asked(came []claim, all bool) []claim {
	for i, c := range came {
		if c.holds && !all {
			return came[:i+1]
		}
	}
	return came
}

// wanted is the decision with another outcome: the k-th condition holds and none before
// it, or none of them.
func wanted(came []claim, k int, all bool) []claim {
	var out []claim
	for i, c := range came {
		switch {
		case i == k:
			out = append(out, claim{c.text, true, c.names})
		case i < k && !all || k == len(came):
			out = append(out, claim{c.text, false, c.names})
		case all:
			out = append(out, c)
		}
	}
	return out
}

// flip plans a run in which a decision comes out as wanted, if values for it are
// found.
func (s *search) flip(t *tried, at *symbols, i int, past, want []claim, edge int) {
	values, ok := s.wits.solveClaims(at, relevant(past, want))
	if !ok {
		values, ok = s.wits.solveClaims(at, want)
	}
	if !ok {
		s.open++
		return
	}
	picks, input := t.upTo(i), maps.Clone(t.input)
	changed := false
	for _, b := range values {
		changed = t.bind(s.graph, picks, &input, b) || changed
	}
	if !changed {
		return
	}
	p := &plan{picks: picks, input: input, rank: rankNews, size: i, news: []int{edge}}
	if edge < 0 {
		p.news = s.otherwise(&t.history[i])
	}
	p.rank = s.rankNow(p)
	s.queue(p)
}

// otherwise are the edges that fire when no condition behind an execution holds.
func (s *search) otherwise(h *record) []int {
	var out []int
	for _, e := range s.graph.Edges {
		if e.From.Value == h.Node && !e.When.IsSet() && (e.Condition == "on_failure") == (h.Error != nil) {
			out = append(out, e.Index)
		}
	}
	return out
}

// relevant are what is wanted and the past conditions that share symbols with it,
// directly or not.
func relevant(past, want []claim) []claim {
	out := slices.Clone(want)
	have := map[string]bool{}
	for _, c := range want {
		for _, name := range c.names {
			have[name] = true
		}
	}
	left := slices.Clone(past)
	for more := true; more; {
		more = false
		left = slices.DeleteFunc(left, func(c claim) bool {
			if !slices.ContainsFunc(c.names, func(name string) bool { return have[name] }) {
				return false
			}
			for _, name := range c.names {
				have[name] = true
			}
			out = append(out, c)
			more = true
			return true
		})
	}
	return out
}

// namesIn are the names that an expression reads, with the members behind them.
func namesIn(text string) []string {
	var out []string
	renamed(text, func(path []string) (string, int) {
		if name := strings.Join(path[:min(len(path), 2)], "."); !slices.Contains([]string{"and", "or", "not", "in", "true", "false", "nil", "startsWith", "endsWith", "contains", "matches", "let"}, name) {
			out = append(out, name)
		}
		return "", 0
	})
	return out
}

// upTo are the choices that were made by the execution at a place.
func (t *tried) upTo(i int) map[string]option {
	out := map[string]option{}
	for _, c := range t.choices {
		if !c.input && c.at <= i {
			out[c.key] = c.taken
		}
	}
	return out
}

// bind changes the choice or the input that a symbol stands for.
func (t *tried) bind(g *spec.Graph, picks map[string]option, input *map[string]any, b solve.Binding) bool {
	var at int
	switch name := b.Path[0]; {
	case g.Key(name) != nil:
		if *input == nil {
			*input = map[string]any{}
		}
		had, given := (*input)[name]
		if !given {
			had = defaultOf(g.Key(name))
		}
		value := withMember(had, b.Path[1:], b.Value)
		if jsonText(had) == jsonText(value) {
			return false
		}
		(*input)[name] = value
		return true
	case scanned(name, "output_%d", &at), scanned(name, "error_%d", &at):
	default:
		return false
	}
	c := t.chosen[at]
	if c == nil {
		return false
	}
	o, made := picks[c.key]
	if !made {
		return false
	}
	before := o.text()
	switch {
	case o.absent > 0:
		return false
	case strings.HasPrefix(b.Path[0], "error_") && o.failure != nil && len(b.Path) > 1:
		own := *o.failure
		own.Details = maps.Clone(own.Details)
		fill(&own, b.Path[1:], b.Value)
		o.failure = &own
	case strings.HasPrefix(b.Path[0], "error_") || o.failure != nil:
		return false
	case len(b.Path) == 1:
		o.output = b.Value
	default:
		o.output = withMember(o.output, b.Path[1:], b.Value)
	}
	picks[c.key] = o
	return o.text() != before
}

func scanned(text, format string, at *int) bool {
	_, err := fmt.Sscanf(text, format, at)
	return err == nil
}

// solveClaims finds values of symbols with which claims come out.
func (w *wits) solveClaims(at *symbols, claims []claim) ([]solve.Binding, bool) {
	parts := make([]string, len(claims))
	for i, c := range claims {
		parts[i] = c.String()
	}
	text := strings.Join(parts, " and ")
	if text == "" || len(text) > 8000 {
		return nil, false
	}
	program, bad := at.scope().Compile("not ("+text+")", eval.Condition)
	if bad != nil {
		return nil, false
	}
	w.begin(60_000)
	result := w.solver.Solve(solve.Problem{
		Conditions: []*eval.Program{program},
		Domain:     func(path []string, typ eval.Type) solve.Domain { return at.domain(path, typ) },
		Valid: func(path []string, value any) bool {
			doc := at.doc(path)
			if doc == nil {
				return true
			}
			compiled, err := schema.Compile(plainSchema(doc))
			return err != nil || compiled.Check(value) == nil
		},
	})
	return result.Gap, result.Found
}

// scope is what conditions over symbols read.
func (s *symbols) scope() *eval.Scope {
	names := map[string]eval.Type{}
	for _, key := range s.graph.State {
		names[key.Name.Value] = eval.FromSchema(key.Schema)
	}
	for name, doc := range s.docs {
		names[name] = eval.Any()
		if doc != nil {
			names[name] = eval.FromSchema(doc)
		}
	}
	return eval.NewScope(names, eval.ScopeOptions{Open: true})
}

// doc is the schema of the value at a path over symbols; nil: none is known.
func (s *symbols) doc(path []string) map[string]any {
	doc := s.docs[path[0]]
	if key := s.graph.Key(path[0]); key != nil {
		doc = key.Schema
	}
	for _, name := range path[1:] {
		properties, _ := doc["properties"].(map[string]any)
		doc, _ = properties[name].(map[string]any)
	}
	return doc
}

func (s *symbols) domain(path []string, typ eval.Type) solve.Domain {
	if strings.HasPrefix(path[0], "error_") && len(path) == 2 && path[1] == "kind" {
		kinds := make([]any, 0, len(spec.FailureKinds()))
		for _, kind := range spec.FailureKinds() {
			kinds = append(kinds, kind)
		}
		return solve.Domain{Kind: solve.String, Values: kinds}
	}
	return domainOfDoc(s.doc(path), typ)
}
