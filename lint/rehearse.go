// Trying a violation out: runs with actual values, superstep by superstep, for
// claims that the conditions along one path don't prove.

package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/spec"
)

// rehearsal looks for a run in which a policy breaks. Conditions are evaluated
// and not only thought about; what it can't follow exactly it doesn't follow, so
// that a run which it finds can happen.
type rehearsal struct {
	f *facts
	p *policy
	// allows says which groups may be taken besides; nil for all.
	allows func(q *quarry, g *controlflow.Group) bool
	// lost, for reach, are the vertices from which END can't be reached.
	lost func(v int) bool
	// trusted, when set, names state keys that only the graph writes: no input gives
	// them another value, and what can't be told of them is not guessed.
	trusted map[string]bool
	// late lets whatever is called take longer than what runs beside it, as one that
	// asks somebody or is tried again does: for proofs that no run breaks the policy.
	late bool
	// guide is the path that the run follows as long as it has one branch; nil
	// for any.
	guide []int

	vm      eval.VM
	choices map[int][]any // values to try, by state key
	schemas map[int]*schema.Schema
	reaches map[[2]int][]bool
	todo    []*scene
	seen    map[string]bool
	broken  bool
	// gaps says what was not followed first; empty when all runs were.
	gaps string
	// shown is the run that breaks the policy, last visit first.
	shown *trail
}

// trail is the visits of a run, last first.
type trail struct {
	node   int
	before *trail
}

func (t *trail) path() []int {
	var out []int
	for ; t != nil; t = t.before {
		out = append(out, t.node)
	}
	slices.Reverse(out)
	return out
}

// Bounds of a rehearsal, and of all of a graph's.
const (
	maxScenes    = 2500
	maxAllScenes = 10_000
	largeScene   = 100    // nodes
	maxRehearsed = 40_000 // evaluations of all rehearsals of a graph
)

// breaks reports whether a run was found that breaks the policy.
func (r *rehearsal) breaks() bool {
	if r.f.joinsAlone() {
		r.gap("branches meet at a join that nobody declared")
		return false
	}
	for _, n := range r.f.graph.Nodes {
		if n.Join != nil && n.Join.Wait != "all" {
			r.gap(fmt.Sprintf("%q does not wait for all branches", n.ID.Value))
		}
	}
	r.choices, r.schemas = map[int][]any{}, map[int]*schema.Schema{}
	r.reaches, r.seen = map[[2]int][]bool{}, map[string]bool{}
	n := len(r.f.graph.Nodes)
	first := &scene{visits: make([]int, n), ended: make([]int, n), values: map[string]any{}}
	r.push(first, []standing{{node: r.f.Start()}})
	for i := 0; i < len(r.todo) && i < maxScenes && !r.broken; i++ {
		// A scene of a large graph is large.
		if r.f.scenes += 1 + n/largeScene; r.f.scenes > maxAllScenes || r.f.rehearsed > maxRehearsed {
			r.gap(tooMany)
			return false
		}
		r.superstep(r.todo[i])
		r.todo[i] = nil
	}
	if len(r.todo) > maxScenes {
		r.gap(tooMany)
	}
	return r.broken
}

// push adds a scene whose next superstep has these tokens.
func (r *rehearsal) push(s *scene, next []standing) {
	if s.next = next; s.mixed {
		s.mixed = false
		slices.SortStableFunc(s.next, func(a, b standing) int { return a.at.compare(b.at) })
	}
	if len(s.next)+len(s.parked) == 0 {
		return
	}
	if key := r.key(s); !r.seen[key] {
		r.seen[key] = true
		r.todo = append(r.todo, s)
	}
}

// key tells scenes apart that may go on differently.
func (r *rehearsal) key(s *scene) string {
	var b strings.Builder
	counts := r.f.ignorance().tally.of
	asksVisits, asksSteps := r.p.never != nil && r.p.never.Uses("visits"), r.p.never != nil && r.p.never.Uses("step")
	fans := map[*branching]int{}
	place := func(at spot) {
		for ; at.fan != nil; at = at.fan.at {
			if _, ok := fans[at.fan]; !ok {
				fans[at.fan] = len(fans)
			}
			fmt.Fprint(&b, ".", fans[at.fan], ":", at.fan.origin, ":", at.lane)
		}
	}
	for i, list := range [][]standing{s.next, s.parked, s.waiting} {
		fmt.Fprint(&b, "|", i)
		for _, t := range list {
			fmt.Fprint(&b, " ", t.node, t.passed, t.source, t.branches)
			if i > 0 && (counts.stepCap > 0 || asksSteps) {
				fmt.Fprint(&b, "@", t.step)
			}
			place(t.at)
			if t.over != nil {
				fmt.Fprint(&b, "=")
				place(spot{fan: t.over})
			}
		}
	}
	for _, d := range s.detours {
		fmt.Fprint(&b, "~", d.join, d.passed)
		for _, at := range d.places {
			place(at)
		}
	}
	if asksSteps {
		fmt.Fprint(&b, "#", s.steps)
	}
	for v, n := range s.visits {
		if asksVisits {
			fmt.Fprint(&b, ",", n)
			continue
		}
		if c, counted := counts.counterOf[v]; counted {
			most := max(counts.counters[c].most, counts.limit[v])
			if v == r.p.place || v == r.p.subject {
				most = max(most, r.p.limit+1)
			}
			n = min(n, most)
		} else if v == r.p.place || v == r.p.subject {
			n = min(n, r.p.limit+1)
		} else {
			n = 0
		}
		fmt.Fprint(&b, ",", n, s.ended[v] > 0 && v == r.p.subject)
	}
	if counts.stepCap > 0 {
		fmt.Fprint(&b, ";", min(s.steps, counts.stepCap))
	}
	for _, key := range r.f.graph.State {
		name := key.Name.Value
		value, known := s.values[name]
		fmt.Fprintf(&b, ";%v%v%v%#v", known, s.derived[name], s.wrote[name] || known, value)
	}
	for _, l := range s.lost {
		fmt.Fprint(&b, "!", l.node, l.told)
		place(l.at)
	}
	fmt.Fprint(&b, s.guesses, s.pos, s.came)
	return b.String()
}

// superstep adds what may follow a scene: what was waited for is there, or stays away
// while others go on.
func (r *rehearsal) superstep(s *scene) {
	if r.late {
		r.returns(s)
		return
	}
	for i := range s.parked {
		r.run(s.back(1 << i))
	}
	if len(s.next) > 0 {
		r.run(s.clone())
	}
}

// returns lets any of those come back that were waited for, alone or together.
func (r *rehearsal) returns(s *scene) {
	if len(s.parked) > maxParked {
		r.gap("many branches may wait at once")
		return
	}
	for which := range 1 << len(s.parked) {
		if which > 0 || len(s.next) > 0 {
			r.run(s.back(which))
		}
	}
}

// maxParked bounds how many tasks are followed that wait at once.
const maxParked = 5

// back is the scene in which some of the tasks that wait go on.
func (s *scene) back(which int) *scene {
	there := s.clone()
	there.parked = nil
	for i, t := range s.parked {
		if which&(1<<i) == 0 {
			there.parked = append(there.parked, t)
			continue
		}
		t.back = true
		there.next = append(there.next, t)
	}
	slices.SortStableFunc(there.next, func(a, b standing) int { return a.at.compare(b.at) })
	return there
}

// run enters the tokens that are due and lets them finish.
func (r *rehearsal) run(s *scene) {
	tasks := slices.Clone(s.next)
	s.next = nil
	for i := range tasks {
		if r.enter(s, &tasks[i]) {
			continue
		}
		if i == 0 || r.broken {
			return
		}
		s.held, tasks, s.cut = slices.Clone(tasks[i:]), tasks[:i], true // no step is left for them
		break
	}
	others := len(tasks)+len(s.parked)+len(s.waiting) > 1
	var may []int // wait, if what they call takes longer
	for i := len(tasks) - 1; i >= 0 && others; i-- {
		switch t := &tasks[i]; {
		case t.back || t.refused || r.immediate(t.node) || r.f.graph.Nodes[t.node].Kind.Value == "fail":
		case r.late:
			may = append(may, i)
		case r.f.graph.Nodes[t.node].Kind.Value == "human":
			s.parked = append(s.parked, *t)
			tasks = slices.Delete(tasks, i, i+1)
		}
	}
	if len(may) > maxParked {
		r.gap("many branches may wait at once")
		may = may[:maxParked]
	}
	for which := range 1 << len(may) {
		there, rest := s.clone(), slices.Clone(tasks)
		for j, i := range may { // the last first
			if which&(1<<j) != 0 {
				there.parked = append(there.parked, tasks[i])
				rest = slices.Delete(rest, i, i+1)
			}
		}
		r.finish(there, rest, others)
	}
}

// finish lets tasks end in the superstep in which they are.
func (r *rehearsal) finish(s *scene, tasks []standing, others bool) {
	for i := range tasks {
		if v := tasks[i].node; !tasks[i].refused && !canFail(r.f.graph.Nodes[v]) && r.catches(v) && r.f.mayErr(v) {
			r.gap("expressions may fail")
		}
	}
	if slices.ContainsFunc(tasks, func(t standing) bool {
		kind := r.f.graph.Nodes[t.node].Kind.Value
		if kind == "fail" && (r.tolerated(t.at) || r.catches(t.node)) || kind == "wait" && others && !r.late {
			r.gap(fmt.Sprintf("%q beside branches", r.f.Name(t.node)))
		}
		return kind == "fail" || kind == "wait" && others && !r.late
	}) {
		return
	}
	for _, list := range r.outcomes(s, tasks) {
		r.race(s, list, func(there *scene, list []standing) {
			for _, t := range list {
				if !t.refused && !t.failed {
					there.ended[t.node]++
				}
			}
			r.collect(there, list, 0, nil)
		})
	}
}

// enter begins one execution; false when the run ends there.
func (r *rehearsal) enter(s *scene, t *standing) bool {
	if t.back {
		return true
	}
	if limit := r.f.graph.Limits.MaxSteps; limit > 0 && s.steps >= limit {
		return false
	}
	if r.breaksAt(s, t) {
		r.broken, r.shown = true, &trail{t.node, s.trail}
		return false
	}
	n := r.f.graph.Nodes[t.node]
	if limit := r.f.ignorance().tally.of.limit[t.node]; limit > 0 && s.visits[t.node] >= limit {
		t.refused = true
		if n.OnMaxVisits == "skip" {
			s.steps++
			t.step = s.steps
		}
		return true
	}
	s.steps++
	s.visits[t.node]++
	s.trail = &trail{t.node, s.trail}
	t.step = s.steps
	return true
}

// breaksAt asks the policy, as the run does when it enters a node.
func (r *rehearsal) breaksAt(s *scene, t *standing) bool {
	switch p := r.p; p.kind {
	case "require":
		return t.node == p.place && s.ended[p.subject] == 0
	case "forbid":
		return t.node == p.subject && s.visits[p.place] > 0
	case "max_visits":
		limit := r.f.ignorance().tally.of.limit[t.node]
		refused := limit > 0 && s.visits[t.node] >= limit // it does not run once more
		return t.node == p.place && s.visits[p.place] >= p.limit && !refused
	case "reach":
		return t.passed && r.lost(t.node)
	}
	return false
}

// breaksEnd asks about a branch that reaches END.
func (r *rehearsal) breaksEnd(s *scene, t *standing) bool {
	switch p := r.p; p.kind {
	case "require":
		return p.place == r.f.End && s.ended[p.subject] == 0
	case "forbid":
		return p.subject == r.f.End && s.visits[p.place] > 0
	}
	return false
}

// immediate reports whether a node has finished once it was entered.
func (r *rehearsal) immediate(v int) bool {
	n := r.f.graph.Nodes[v]
	return n.Kind.Value == "set" || n.Kind.Value == "pass"
}

// canFail reports whether what a node calls, or whom it asks, may fail.
func canFail(n *spec.Node) bool {
	switch n.Kind.Value {
	case "set", "pass", "wait":
		return false
	case "human":
		return n.Timeout > 0 && n.Field("default") == nil // nobody may be there
	}
	return true
}

// mayErr reports whether an expression of a node may fail, besides the values that a
// set node writes, which are tried.
func (f *facts) mayErr(v int) bool {
	return slices.ContainsFunc(f.uses().OfNode(v), func(u dataflow.Use) bool {
		return u.Field != "set" && u.Program != nil && !u.Optional
	})
}

// isFree reports whether a node writes what nobody knows before: a result of
// something that it calls.
func (f *facts) isFree(v int, w *dataflow.Write) bool {
	switch f.graph.Nodes[v].Kind.Value {
	case "set", "pass", "wait", "fail":
		return false
	}
	return w.Value == nil || !slices.ContainsFunc(w.Value.Reads(), func(r eval.Read) bool { return r.Path[0] != "output" })
}
