// What a rehearsed execution writes, and which of its edges fire.

package lint

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/spec"
)

// update is what a task writes to a state key.
type update struct {
	key   int
	value any
	kind  writeKind
}

// writeKind says what is known of what is written. The zero value is unset.
type writeKind int

const (
	writesValue   writeKind = iota + 1 // this value
	writesAny                          // whatever the key may hold
	writesUnknown                      // something that can't be told
)

// outcomes are the tasks of a superstep as they may end: all well, and any of those
// that may fail failed.
func (r *rehearsal) outcomes(s *scene, tasks []standing) [][]standing {
	var may []int
	for i, t := range tasks {
		if t.refused || r.immediate(t.node) || !r.mayFail(&t) || !r.late && len(tasks)+len(s.parked) > 1 && r.triesAgain(t.node) {
			continue
		}
		may = append(may, i)
	}
	if len(may) > maxFailing {
		r.gap("many programs may fail at once")
		may = may[:maxFailing]
	}
	out := [][]standing{tasks}
	for which := 1; which < 1<<len(may); which++ {
		broken := slices.Clone(tasks)
		for j, i := range may {
			broken[i].failed = which&(1<<j) != 0
		}
		out = append(out, broken)
	}
	return out
}

// triesAgain reports whether a node that fails is tried again, whatever the failure:
// others get on meanwhile.
func (r *rehearsal) triesAgain(v int) bool {
	blocks := r.f.graph.Nodes[v].RetryBlocks(r.f.graph)
	return slices.ContainsFunc(blocks, func(b spec.Retry) bool { return b.MaxAttempts > 1 && len(b.On) == 0 })
}

// maxFailing bounds how many tasks of a superstep are tried to fail together.
const maxFailing = 4

// mayFail reports whether a node may fail, and the run goes on then.
func (r *rehearsal) mayFail(t *standing) bool {
	n := r.f.graph.Nodes[t.node]
	if n.Each.IsSet() && controlflow.FailurePolicy(r.f.graph, t.node) == "wait_all" {
		return false // it has the errors of its elements in its output
	}
	watched := r.p.kind == "never" && t.node == r.p.place // the policy is asked then, too
	return canFail(n) && (watched || r.tolerated(t.at) || r.catches(t.node))
}

// catches reports whether the flow says what happens when a node fails.
func (r *rehearsal) catches(v int) bool {
	return slices.ContainsFunc(r.f.flow().Groups[v], func(g controlflow.Group) bool { return g.Kind == controlflow.OnFailure })
}

func (r *rehearsal) collect(s *scene, tasks []standing, i int, updates []update) {
	if r.broken {
		return
	}
	if i == len(tasks) {
		if there := s.clone(); r.apply(there, updates) {
			r.route(there, tasks, 0, nil)
		}
		return
	}
	t := &tasks[i]
	switch n := r.f.graph.Nodes[t.node]; {
	case t.refused || t.failed:
		r.collect(s, tasks, i+1, updates)
	case n.Kind.Value == "set":
		r.assign(s, tasks, i, 0, map[string]any{}, updates)
	default:
		for _, w := range r.f.access()[t.node].Writes {
			kind := writesUnknown
			if value, ok := constant(w.Value); ok {
				updates = append(slices.Clip(updates), update{key: w.Key, value: value, kind: writesValue})
				continue
			}
			if key := r.f.graph.State[w.Key]; r.f.isFree(t.node, &w) && dataflow.Replaces(key) && !r.trusted[key.Name.Value] {
				kind = writesAny
			}
			updates = append(slices.Clip(updates), update{key: w.Key, kind: kind})
		}
		r.collect(s, tasks, i+1, updates)
	}
}

// constant is the value of a program that reads nothing.
func constant(p *eval.Program) (value any, ok bool) {
	if p == nil {
		return nil, false
	}
	return p.Const()
}

// assign evaluates the j-th assignment of a set node, which sees those before it.
func (r *rehearsal) assign(s *scene, tasks []standing, i, j int, over map[string]any, updates []update) {
	t := &tasks[i]
	set := r.f.bound.Nodes[t.node].Set
	if j == len(set) {
		r.collect(s, tasks, i+1, updates)
		return
	}
	key, known := r.f.keyOf[set[j].Name]
	if !known {
		r.assign(s, tasks, i, j+1, over, updates)
		return
	}
	put := func(s *scene, value any, ok bool) {
		u := update{key: key, value: value, kind: writesValue}
		if ok = ok && dataflow.Replaces(r.f.graph.State[key]) && !r.f.graph.Nodes[t.node].Each.IsSet(); !ok {
			u.kind, value = writesUnknown, unknown{}
		}
		next := map[string]any{}
		for name, v := range over { //lint:ignore mapiter a copy
			next[name] = v
		}
		next[set[j].Name] = value
		r.assign(s, tasks, i, j+1, next, append(slices.Clip(updates), u))
	}
	switch value := &set[j].Value; {
	case value.IsConst():
		put(s, value.Const(), true)
	case value.Program() != nil:
		r.eval(s, value.Program(), t, over, put)
	default:
		put(s, nil, false)
	}
}

// apply writes; false when the run ends there.
func (r *rehearsal) apply(s *scene, updates []update) bool {
	writers := map[int][]update{}
	for _, u := range updates {
		writers[u.key] = append(writers[u.key], u)
	}
	for key, list := range writers { //lint:ignore mapiter keys are independent
		u := list[len(list)-1]
		if len(list) > 1 {
			switch r.f.graph.Parallel.Conflict {
			case "error":
				return false
			case "first_wins":
				u = list[0]
			}
			r.gap("what branches write at once")
			if slices.ContainsFunc(list, func(other update) bool { return other.kind != u.kind }) {
				u.kind = writesUnknown
			}
		}
		if u.kind == writesValue && !r.fits(key, u.value) {
			r.gap(fmt.Sprintf("%q may be given what it can't hold", r.f.graph.State[key].Name.Value))
			return false
		}
		s.put(r.f.graph.State[key].Name.Value, u)
	}
	return true
}

// route resolves the edges of the tasks in turn.
func (r *rehearsal) route(s *scene, tasks []standing, i int, moves []fired) {
	if r.broken {
		return
	}
	if i == len(tasks) {
		r.dispatch(s.clone(), moves)
		return
	}
	t := &tasks[i]
	if p := r.p; p.kind == "never" && t.node == p.place {
		r.eval(s, p.never, t, nil, func(s *scene, value any, ok bool) {
			if ok && value == true {
				r.broken, r.shown = true, s.trail
				return
			}
			if !ok {
				r.gap(fmt.Sprintf("%q is known at run time only", p.never.Source()))
			}
			r.resolve(s, tasks, i, moves)
		})
		return
	}
	r.resolve(s, tasks, i, moves)
}

func (r *rehearsal) resolve(s *scene, tasks []standing, i int, moves []fired) {
	t := &tasks[i]
	n := r.f.graph.Nodes[t.node]
	groups := r.f.flow().Groups[t.node]
	goOn := func(s *scene, g *controlflow.Group, edges []int) {
		to := g.Targets
		if len(edges) > 0 {
			to = nil
			for _, e := range edges {
				to = append(to, r.f.To[e])
			}
		}
		if s, ok := r.follows(s, t, g, to, len(tasks)); ok {
			r.route(s, tasks, i+1, append(slices.Clip(moves), fired{from: t, to: to}))
		}
	}
	lost := func(s *scene) {
		switch {
		case !r.tolerated(t.at):
			if len(tasks) > 1 {
				r.gap("a branch may fail beside others")
			}
		case t.refused:
			r.gap("a limit of visits may end a branch")
		default:
			r.route(s, tasks, i+1, append(slices.Clip(moves), fired{from: t, lost: true}))
		}
	}
	if slices.ContainsFunc(groups, func(g controlflow.Group) bool { return g.Subset || g.Kind == controlflow.ByDecision }) {
		r.gap(fmt.Sprintf("where %q leads is known at run time only", n.ID.Value))
	}
	skips := t.refused && n.OnMaxVisits == "skip"
	switch {
	case t.failed || t.refused && !skips:
		r.failed(s, t, groups, goOn, lost)
	case skips:
		if plain := r.f.certainEdges(t.node, false, true); len(plain) > 0 {
			g := r.f.flow().NewGroup(controlflow.ByDefault, plain...)
			goOn(s, &g, g.Edges)
		}
	case n.Goto.IsSet():
		r.chosen(s, t, groups, goOn)
	default:
		for j := range groups {
			if g := &groups[j]; g.Kind == controlflow.ByGoto && !g.Subset && !r.immediate(t.node) {
				goOn(s, g, nil)
			}
		}
		r.guards(s, t, groups, nil, goOn)
	}
}

// failed takes what fires after a failure: the first condition that holds, else
// the edges without one. What the error is nobody knows, unless a limit refused
// the visit.
func (r *rehearsal) failed(s *scene, t *standing, groups []controlflow.Group, goOn func(*scene, *controlflow.Group, []int), lost func(*scene)) {
	for len(groups) > 0 && (groups[0].Kind != controlflow.OnFailure || groups[0].Subset) {
		groups = groups[1:]
	}
	if len(groups) == 0 {
		lost(s)
		return
	}
	g, rest := &groups[0], groups[1:]
	when := r.f.bound.Edges[g.Edges[0]].When
	if when == nil {
		goOn(s, g, g.Edges)
		return
	}
	if !slices.ContainsFunc(when.Reads(), func(read eval.Read) bool { return read.Path[0] != "error" }) {
		if t.failed {
			goOn(s.clone(), g, g.Edges)
		}
		r.failed(s, t, rest, goOn, lost)
		return
	}
	r.eval(s, when, t, nil, func(s *scene, value any, ok bool) {
		switch {
		case !ok:
			r.gap("conditions on errors")
		case value == true:
			goOn(s, g, g.Edges)
		default:
			r.failed(s, t, rest, goOn, lost)
		}
	})
}

// follows reports whether a token may take that way.
func (r *rehearsal) follows(s *scene, t *standing, g *controlflow.Group, to []int, tasks int) (*scene, bool) {
	q := &quarry{at: t.node, passed: t.passed, know: r.f.ignorance()}
	q.know.values = map[string][]any{}
	for name := range s.fixed { //lint:ignore mapiter entries are independent
		if v, known := s.values[name]; known {
			q.know.values[name] = []any{v}
		}
	}
	if r.f.isDead(g) || r.allows != nil && !r.allows(q, g) {
		return s, false
	}
	if s.pos < 0 || s.pos+1 >= len(r.guide) {
		return s, true
	}
	there := s.clone()
	if there.pos++; tasks > 1 || len(s.parked)+len(s.waiting) > 0 || len(to) > 1 {
		there.pos = -1 // branches go anywhere
	}
	return there, tasks > 1 || slices.Contains(to, r.guide[s.pos+1])
}

// guards tries the conditions in their order, then the edges without one.
func (r *rehearsal) guards(s *scene, t *standing, groups []controlflow.Group, all []int, goOn func(*scene, *controlflow.Group, []int)) {
	for len(groups) > 0 && groups[0].Kind != controlflow.ByGuard && groups[0].Kind != controlflow.ByDecision && groups[0].Kind != controlflow.ByDefault {
		groups = groups[1:]
	}
	if len(groups) == 0 || groups[0].Kind != controlflow.ByGuard {
		r.fallback(s, groups, goOn)
		return
	}
	g := &groups[0]
	if r.f.graph.Nodes[t.node].Routing == "all" {
		r.every(s, t, groups, 0, nil, goOn)
		return
	}
	when := r.f.bound.Edges[g.Edges[0]].When
	if when == nil {
		r.gap("conditions")
		return
	}
	r.test(s, when, t, func(s *scene, holds bool) {
		if holds {
			goOn(s, g, g.Edges)
			return
		}
		r.guards(s, t, groups[1:], all, goOn)
	})
}

// every tries all conditions of a node that lets each matching edge fire.
func (r *rehearsal) every(s *scene, t *standing, groups []controlflow.Group, i int, match []int, goOn func(*scene, *controlflow.Group, []int)) {
	g := &groups[0]
	if i < len(g.Edges) {
		if when := r.f.bound.Edges[g.Edges[i]].When; when != nil {
			r.test(s, when, t, func(s *scene, holds bool) {
				if holds {
					r.every(s, t, groups, i+1, append(slices.Clip(match), g.Edges[i]), goOn)
				} else {
					r.every(s, t, groups, i+1, match, goOn)
				}
			})
		}
		return
	}
	if len(match) > 0 {
		goOn(s, g, match)
		return
	}
	r.fallback(s, groups[1:], goOn)
}

// fallback takes what fires when no condition held.
func (r *rehearsal) fallback(s *scene, groups []controlflow.Group, goOn func(*scene, *controlflow.Group, []int)) {
	decides := slices.ContainsFunc(groups, func(g controlflow.Group) bool { return g.Kind == controlflow.ByDecision })
	for i := range groups {
		if g := &groups[i]; g.Kind == controlflow.ByDecision || g.Kind == controlflow.ByDefault && !decides {
			goOn(s.clone(), g, g.Edges)
		}
	}
}

// test is eval for a condition. One that can't be evaluated may hold or not,
// as long as nothing else asks about the same.
func (r *rehearsal) test(s *scene, p *eval.Program, t *standing, then func(*scene, bool)) {
	r.eval(s, p, t, nil, func(s *scene, value any, ok bool) {
		if ok {
			if holds, is := value.(bool); is {
				then(s, holds)
			}
			return
		}
		r.guess(s, p, t, then)
	})
}
