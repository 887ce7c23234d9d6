// policy-violated: a path through the graph breaks a policy.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/assignment"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

func policyViolated() Rule {
	return Rule{
		Name: "policy-violated", Group: "policies", Severity: spec.Error, needs: needAll,
		Summary: "a path through the graph breaks one of its policies",
		Doc: "A policy is a property that every path keeps: require A before B (A has succeeded by then); forbid A after B; reach END from A (whatever happens after A, END stays reachable: no fail node, no dead end) or reach B from A (there is a way); at most N visits of a node; an expression that is never true at a node. " +
			"The message prints the path of a run with actual values that breaks it. Conditions that depend on the node in question are trusted to do their work, as are numbers that programs count, and inputs and results, but not defaults, to keep a never policy where no condition on the way speaks of them; the run watches them.",
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
		if path, _ = f.openPath(a, 0, p.place); path != nil {
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
	path := f.wayThrough(p.place, p.subject)
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
	for v, comes := range f.alive().Reach(f.calm(p.place)...) {
		if !comes || v >= len(f.graph.Nodes) || !f.stuck(v) {
			continue
		}
		path := f.wayThrough(p.place, v)
		if path != nil && f.runs(p, explore.Question{Guide: path}).Found {
			f.report(p.at.Span, "END can't be reached any more after %q on the path %s", f.Name(p.place), f.pathText(path))
			return
		}
	}
}

// wayThrough returns a shortest path from the start to a vertex and on to another one,
// by at least one edge, or nil.
func (f *facts) wayThrough(v, to int) []int {
	path := f.wayTo(v)
	if path == nil {
		return nil
	}
	if v == to {
		cycle := cycleThrough(f.alive(), v)
		if cycle == nil {
			return nil
		}
		return append(path, cycle[1:]...)
	}
	on := shortest(f.alive().Next, len(f.graph.Nodes)+2, v, to)
	if on == nil {
		return nil
	}
	return append(path, on[1:]...)
}

// openPath returns a path from the start to v on which a thing is not made, or nil; agrees
// reports whether its conditions can hold together.
func (f *facts) openPath(a *assignment.Analysis, thing, v int) (path []int, agrees bool) {
	for _, path := range [][]int{a.Path(thing, v), a.PathAround(thing, v)} {
		if path != nil && f.agrees(path) {
			return path, true
		}
	}
	return a.Path(thing, v), false
}

// agrees reports whether the conditions on a path can all hold, as far as they read only
// what no node writes.
func (f *facts) agrees(path []int) bool {
	var claims []solve.Claim
	for i := range len(path) - 1 {
		groups := f.flow().Groups[path[i]]
		at := slices.IndexFunc(groups, func(g controlflow.Group) bool { return slices.Contains(g.Targets, path[i+1]) })
		if at >= 0 {
			claims = append(claims, f.claims(path[i], at, func(name string) bool { return f.graph.Key(name) != nil && len(f.writersOf()[name]) == 0 })...)
		}
	}
	return len(claims) == 0 || f.possible(site{f: f, failed: true}, claims) // of no node
}

// claims returns how conditions over known names came out if a group of a node fires.
func (f *facts) claims(v, fires int, known func(name string) bool) (out []solve.Claim) {
	groups := f.flow().Groups[v]
	kind := groups[fires].Kind
	if kind != controlflow.ByGuard && kind != controlflow.ByDefault || f.graph.Nodes[v].OnMaxVisits == "skip" {
		return nil
	}
	for i := range fires + 1 {
		g := &groups[i]
		if g.Kind != controlflow.ByGuard || g.Subset {
			continue
		}
		when := f.bound.Edges[g.Edges[0]].When
		if when != nil && !slices.ContainsFunc(when.Reads(), func(r eval.Read) bool { return !known(r.Path[0]) }) {
			out = append(out, solve.Claim{Tree: when.Tree(), Holds: i == fires})
		}
	}
	return out
}

// possible reports whether conditions can come out so together.
func (f *facts) possible(at site, claims []solve.Claim) bool {
	return f.solver.Possible(claims, at.domain)
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
	var path []int
	if f.alwaysAt(p) {
		path = f.witness(p, f.wayTo(p.place), nil)
	}
	keys := f.decided(p.never)
	if path == nil && len(keys) > 0 {
		path = f.trusting(p, keys, nil)
	}
	if path == nil && f.watches(p, keys) {
		path = f.witness(p, f.wayTo(p.place), nil)
	}
	if path != nil {
		f.report(p.at.At(0, len(p.at.Value)), "%q is true at %q on the path %s", p.at.Value, f.Name(p.place), f.pathText(path))
	}
}

// alwaysAt reports whether schemas, limits and the nodes before a place make a condition
// true there whenever the node succeeds.
func (f *facts) alwaysAt(p *policy) bool {
	at := site{f: f, node: f.graph.Nodes[p.place]}
	return f.solver.Solve(solve.Problem{Conditions: []*eval.Program{p.never}, Domain: at.domain, Valid: at.valid, Why: at.why}).Verdicts[0].Always
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
