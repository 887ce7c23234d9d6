// policy-violated: a path through the graph breaks a policy.

package lint

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/spec"
)

func policyViolated() Rule {
	return Rule{
		Name: "policy-violated", Group: "policies", Severity: spec.Error, needs: needAll,
		Summary: "a path through the graph breaks one of its policies",
		Doc: "A policy is a property that every path keeps: require A before B (A has succeeded by then); forbid A after B; reach END from A (whatever happens after A, END stays reachable: no fail node, no dead end) or reach B from A (there is a way); at most N visits of a node; an expression that is never true at a node. " +
			"The message prints a path that breaks it, whose conditions can hold one after the other; what branches, joins and computed values decide is claimed only when a run with actual values shows it. Conditions that depend on the node in question are trusted to do their work, as are numbers that programs count, and inputs and results, but not defaults, to keep a never policy where no condition on the way speaks of them; the run watches them.",
		Good:   approved,
		change: []string{"policies:", "state:\n  urgent: {type: boolean, required: true}\npolicies:", "  - {from: build", "  - {from: build, to: deploy, when: urgent}\n  - {from: build"},
		check:  checkPolicyViolated,
	}
}

// What the policies of a graph look at is bounded: vertices and edges once for each
// policy, of which that many may be asked on a large graph, and states of searches, which
// take longer. Beyond it nothing is said.
const (
	maxPondered = 200_000
	maxPolicies = 100
)

func checkPolicyViolated(f *facts) {
	if len(f.graph.Policies) == 0 {
		return
	}
	var open []policy
	for _, p := range f.policies(nil) {
		if f.flow().Anywhere {
			f.undecided = append(f.undecided, doubt{p, "where some nodes lead is known at run time only"})
			continue
		}
		if f.pondered += len(f.graph.Nodes) + len(f.graph.Edges); f.pondered > maxPondered+maxPolicies*(len(f.graph.Nodes)+len(f.graph.Edges)) {
			f.undecided = append(f.undecided, doubt{p, "the graph is too large to ask of every policy"})
			continue
		}
		if how := f.keeps(&p); how != "" { // as most policies are, and runs take long to try
			f.kept = append(f.kept, proof{p, how})
		} else {
			open = append(open, p)
		}
	}
	slices.SortStableFunc(open, func(a, b policy) int { return a.effort() - b.effort() })
	unbroken := open[:0]
	for i, p := range open {
		f.waiting = len(open) - i
		said := len(f.found)
		if f.refute(&p); len(f.found) == said {
			unbroken = append(unbroken, p)
		}
	}
	f.waiting = 0
	for i := range unbroken { // proofs may use up the steps that breaches of others are found with
		if why := f.triesAll(&unbroken[i]); why != "" {
			f.undecided = append(f.undecided, doubt{unbroken[i], why})
		} else {
			f.kept = append(f.kept, proof{unbroken[i], "each run was tried that inputs, results and their order allow"})
		}
	}
}

// effort orders policies by what it takes to find a breach: runs that go round.
func (p *policy) effort() int {
	if p.kind == "max_visits" {
		return 1
	}
	return 0
}

// refute looks for a way to break a policy.
func (f *facts) refute(p *policy) {
	switch p.kind {
	case "require":
		f.requireBefore(p)
	case "forbid":
		f.forbidAfter(p)
	case "reach":
		f.reachFrom(p)
	case "max_visits":
		f.atMost(p)
	case "never":
		f.neverAt(p)
	}
}

// requireBefore asks for a path to the place on which the subject has not
// succeeded.
func (f *facts) requireBefore(p *policy) {
	a := f.newAssignment(1)
	a.First = true
	a.Makes(p.subject, 0)
	w := f.wary(p.subject)
	open := make([][]int, len(f.graph.Nodes))
	for v := range open {
		open[v] = w.open(v)
	}
	a.Only(func(v, target int) bool { return slices.Contains(open[v], target) })
	a.Solve()
	if p.subject == p.place {
		return
	}
	var path []int
	if a.MayLack(p.place, 0) {
		if path = f.openPath(a, 0, p.place, w.allows); path != nil {
			path = f.witness(p, path, w)
		}
	}
	around := shortest(func(v int) []int {
		if v == p.subject {
			return nil
		}
		return f.alive().Next(v)
	}, len(f.graph.Nodes)+2, f.Start(), p.place)
	if path == nil && (around != nil || f.skipsUnmade(p.subject)) {
		path = f.trusting(p, w.keys, around)
	}
	if path != nil {
		f.report(p.at.Span, "%q is reached without a success of %q on the path %s", f.Name(p.place), f.Name(p.subject), f.pathText(path))
	}
}

func (f *facts) forbidAfter(p *policy) {
	w := f.wary(p.place)
	h := &pathSearch{f: f, through: p.place, to: p.subject}
	h.allows = func(q *searched, g *controlflow.Group, _ onward) bool { return !q.passed || w.allows(q.at, g, q.know) }
	path := h.ponder(maxSearchStates)
	if path != nil {
		path = f.witness(p, path, w)
	}
	if path == nil && (f.forks() != nil || f.leads(p.place, p.subject)) {
		path = f.trusting(p, w.keys, nil)
	}
	if path != nil {
		f.report(p.at.Span, "%q can run after %q on the path %s", f.Name(p.subject), f.Name(p.place), f.pathText(path))
		return
	}
}

// reachFrom asks, for END, for a way after the place from which END can't be
// reached any more; for a node, whether it can be reached from the place at all.
func (f *facts) reachFrom(p *policy) {
	if !f.flow().Reached[p.place] {
		return
	}
	if p.place != p.subject && !f.leads(p.place, p.subject) {
		f.report(p.at.Span, "%q can't be reached from %q", f.Name(p.subject), f.Name(p.place))
		return
	}
	if p.subject != f.End {
		return
	}
	h := &pathSearch{f: f, through: p.place, stop: f.stuck}
	h.allows = func(at *searched, g *controlflow.Group, _ onward) bool {
		return at.at != p.place || g.Kind != controlflow.OnFailure
	}
	if path := h.ponder(maxSearchStates); path != nil && f.runs(p, explore.Question{Guide: path}).Found {
		f.report(p.at.Span, "END can't be reached any more after %q on the path %s", f.Name(p.place), f.pathText(path))
	}
}

// witness is a run that breaks a policy, tried along a path first. Nil when none was
// found.
func (f *facts) witness(p *policy, path []int, w *wary) []int {
	q := explore.Question{Guide: path}
	if w != nil {
		q.Allow = func(r *explore.Run, v int, taken []explore.Taken) bool {
			n := r.Visits(p.place)
			before := p.kind == "forbid" && (n == 0 || n == 1 && v == p.place)
			return before || w.lets(r, v, taken)
		}
	}
	a := f.runs(p, q)
	if a.Found && path != nil && f.flow().FansOut && passes(a.Witness, path) {
		return path // without what branches beside it do
	}
	return a.Witness
}

// passes reports whether a run passes the vertices of a path one after the other.
func passes(run, path []int) bool {
	for _, v := range run {
		if len(path) > 0 && path[0] == v {
			path = path[1:]
		}
	}
	return len(path) == 0
}

// trusting is a run that breaks a policy although conditions do their work: those
// over the state keys that it names see only what the graph itself writes, those
// over visits and steps what the run has come to. It is tried along a path first, unless
// that is nil. Nil when none was found.
func (f *facts) trusting(p *policy, keys map[string]bool, path []int) []int {
	found := f.runs(p, explore.Question{Fixed: keys, Guide: path}).Witness
	if found == nil && path == nil && p.kind != "max_visits" {
		found = f.runs(p, explore.Question{Fixed: keys, Guide: f.wayTo(p.place)}).Witness
	}
	return found
}

// neverAt asks for a path on which the conditions that hold make the forbidden
// one true.
func (f *facts) neverAt(p *policy) {
	if p.never == nil {
		return
	}
	if value, ok := p.never.Const(); ok {
		if value == true {
			f.report(p.at.At(0, len(p.at.Value)), "%q is true whenever %q runs", p.at.Value, f.Name(p.place))
		}
		return
	}
	h := &pathSearch{f: f, through: -1, to: p.place}
	h.accept = func(k *knowledge) bool { return k.entails(p.place, p.never) }
	path := h.ponder(maxSearchStates)
	if path != nil {
		path = f.witness(p, path, nil)
	}
	keys := f.decided(p.never)
	if path == nil && len(keys) > 0 {
		path = f.trusting(p, keys, nil)
	}
	if given := f.withDefaults(p.never, keys); path == nil && len(given) > len(keys) {
		path = f.trusting(p, given, f.wayTo(p.place))
	}
	if path == nil && f.watches(p, keys) {
		h.accept = func(k *knowledge) bool { return k.mayHold(p.place, p.never) }
		path = f.witness(p, h.ponder(maxSearchStates), nil)
	}
	if path != nil {
		f.report(p.at.At(0, len(p.at.Value)), "%q is true at %q on the path %s", p.at.Value, f.Name(p.place), f.pathText(path))
	}
}

// watches reports whether conditions before the place of a never policy speak of each
// key that it reads, those apart that the graph itself writes: they are there to keep
// the policy, and the graph is wrong when they don't. Inputs and results of which no
// condition speaks are left to the run.
func (f *facts) watches(p *policy, decided map[string]bool) bool {
	before := f.before(p.place)
	return !slices.ContainsFunc(p.never.Reads(), func(r eval.Read) bool {
		key := r.Path[0]
		if f.graph.Key(key) == nil {
			return true
		}
		return !decided[key] && !slices.ContainsFunc(f.graph.Edges, func(e *spec.Edge) bool {
			when := f.bound.Edges[e.Index].When
			return when != nil && f.From[e.Index] >= 0 && before[f.From[e.Index]] && dataflow.ReadsKey(when, key)
		})
	})
}

// withDefaults adds to some keys those that an expression reads, no node writes, and
// which have a default: what a run has that is given nothing.
func (f *facts) withDefaults(p *eval.Program, keys map[string]bool) map[string]bool {
	out := maps.Clone(keys)
	for _, r := range p.Reads() {
		key := f.graph.Key(r.Path[0])
		if key != nil && key.Default != nil && !key.Required && len(f.writersOf()[r.Path[0]]) == 0 {
			out[r.Path[0]] = true
		}
	}
	return out
}

// decided are the state keys that an expression reads and only people and set nodes
// write: what the graph itself has to see to, while inputs and results come as they may.
func (f *facts) decided(p *eval.Program) map[string]bool {
	out := map[string]bool{}
	for _, r := range p.Reads() {
		writers := f.writersOf()[r.Path[0]]
		if len(writers) > 0 && !slices.ContainsFunc(writers, func(n *spec.Node) bool { return n.Kind.Value != "human" && n.Kind.Value != "set" }) {
			out[r.Path[0]] = true
		}
	}
	return out
}
