// Joins: barriers that wait for the branches that can still reach them
// (GraphSpec §7).

package machine

import (
	"cmp"
	"slices"
	"strconv"
)

// joinKind says how many branches a join waits for. The zero value is no join.
type joinKind int

const (
	joinAll joinKind = iota + 1
	joinAny
	joinCount
)

// barrier collects the branches that have arrived at a join. An implicit join
// has one for each fan-out, an explicit one serves all.
type barrier struct {
	node     int
	fan      *fanout // of an implicit join
	arrivals []arrival
}

// arrival is a token that waits at a join.
type arrival struct {
	at     place
	source int
	input  any
	output any
	thread *thread
}

// joinOf returns the barrier that a token has to pass to enter a node, if any.
func (p *Plan) joinOf(node int, at place) (isJoin bool, fan *fanout) {
	if p.nodes[node].join != 0 {
		return true, nil
	}
	for f := at.fan; f != nil; f = f.at.fan {
		if f.auto == node {
			return true, f
		}
	}
	return false, nil
}

// arrive brings a token to a join.
func (s *State) arrive(node int, fan *fanout, a arrival) {
	i, found := slices.BinarySearchFunc(s.barriers, barrier{node: node, fan: fan}, compareBarriers)
	if !found {
		atMost := min(len(s.plan.nodes[node].sources), len(s.tasks))
		s.barriers = slices.Insert(s.barriers, i, barrier{node: node, fan: fan, arrivals: make([]arrival, 0, atMost)})
	}
	s.barriers[i].arrivals = append(s.barriers[i].arrivals, a)
}

func compareBarriers(a, b barrier) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.fan.number(), b.fan.number()))
}

func (f *fanout) number() int {
	if f == nil {
		return 0
	}
	return f.id
}

// fireJoins starts every join that need not wait any longer. It returns how the
// run ends when one can't be satisfied any more.
func (p *Plan) fireJoins(s *State) *ending {
	for i := 0; i < len(s.barriers); i++ {
		b := &s.barriers[i]
		if len(b.arrivals) == 0 {
			s.barriers = slices.Delete(s.barriers, i, i+1)
			i--
			continue
		}
		if !p.satisfied(s, b) {
			continue
		}
		p.fireJoin(s, i)
		i = -1 // firing may have removed tokens that others waited for
	}
	if len(s.barriers) > 0 && len(s.next) == 0 && len(s.parked) == 0 {
		return p.breakTie(s)
	}
	return p.unsatisfiable(s)
}

// satisfied reports whether a join fires with what has arrived.
func (p *Plan) satisfied(s *State, b *barrier) bool {
	switch n := &p.nodes[b.node]; {
	case b.fan == nil && n.join == joinAny:
		return true
	case b.fan == nil && n.join == joinCount:
		return len(b.arrivals) >= n.joinCount
	}
	return !p.awaited(s, b)
}

// awaited reports whether some live token that has not arrived can still reach
// the join.
func (p *Plan) awaited(s *State, b *barrier) bool {
	comes := p.onTheWay(s, b.node, b.arrivals)
	may := func(node int, at place) bool {
		return (b.fan == nil || at.within(b.fan)) && comes(node, at)
	}
	for _, list := range [...][]task{s.next, s.parked} {
		for i := range list {
			if may(list[i].node, list[i].at) {
				return true
			}
		}
	}
	for i := range s.barriers {
		other := &s.barriers[i]
		if other.node == b.node && other.fan == b.fan {
			continue
		}
		for _, a := range other.arrivals {
			if may(other.node, a.at) {
				return true
			}
		}
	}
	return false
}

// onTheWay tells the tokens that can still meet the arrivals at a join: those
// that share a fan-out with one and reach the join without going back to where
// that fan-out began, for there they would begin another.
func (p *Plan) onTheWay(s *State, node int, arrivals []arrival) func(int, place) bool {
	var fans []*fanout
	for _, a := range arrivals {
		if f := a.at.fan; f != nil && !slices.Contains(fans, f) {
			fans = append(fans, f)
		}
	}
	return func(at int, where place) bool {
		for _, f := range fans {
			shared := common(where, place{fan: f}).fan
			if shared != nil && p.reaching(s, node, shared.origin).has(at) {
				return true
			}
		}
		return false
	}
}

// fireJoin makes one task of a barrier's arrivals. What is still on its way to
// an any or N join is cancelled.
func (p *Plan) fireJoin(s *State, i int) {
	b := s.barriers[i]
	s.barriers = slices.Delete(s.barriers, i, i+1)
	if kind := p.nodes[b.node].join; b.fan == nil && (kind == joinAny || kind == joinCount) {
		p.removeLate(s, &b)
	}
	at := b.arrivals[0].at
	for _, a := range b.arrivals[1:] {
		at = mergePlaces(at, a.at)
	}
	p.startJoin(s, b.node, at.leave(), b.arrivals, nil)
}

// startJoin puts the join's node into the next superstep.
func (p *Plan) startJoin(s *State, node int, at place, arrivals []arrival, failures []*Failure) {
	t := s.addNext()
	t.node, t.at, t.joined = node, at, true
	t.inputs = make([]sourceInput, 0, len(arrivals))
	s.mixed = true // its branch may be declared before others that are due
	for _, a := range arrivals {
		t.inputs = append(t.inputs, sourceInput{a.source, a.input})
	}
	if len(arrivals) == 1 {
		t.input = arrivals[0].input
	}
	if p.talks && len(arrivals) > 0 {
		t.thread = s.joinThreads(arrivals)
	}
	if len(arrivals) == 0 {
		t.input = map[string]any{}
	}
	if p.wanted&useBranches != 0 {
		t.branches = p.branchesOf(arrivals, failures, at)
	}
}

// branchesOf is what `branches` holds at a join: the output of each branch that
// arrived, the error of each that failed and was waited for.
func (p *Plan) branchesOf(arrivals []arrival, failures []*Failure, joined place) map[string]any {
	out := map[string]any{}
	seen := map[*fanout]bool{}
	for _, a := range arrivals {
		out[p.nodes[a.source].id] = map[string]any{"output": Plain(a.output), "error": nil}
		for f := a.at.fan; f != nil && f != joined.fan && !seen[f]; f = f.at.fan {
			seen[f] = true
			failures = append(failures, f.failures...)
		}
	}
	if f := joined.fan; f != nil && !seen[f] {
		failures = append(failures, f.failures...)
	}
	for _, failure := range failures {
		out[failure.Node] = map[string]any{"output": nil, "error": failureData(failure)}
	}
	return out
}

// removeLate ends the tokens that are still on their way to a join which has
// enough arrivals. The fan-outs that they leave have not failed.
func (p *Plan) removeLate(s *State, b *barrier) {
	scope := place{fan: b.arrivals[0].at.fan}
	for _, a := range b.arrivals[1:] {
		scope = common(scope, a.at)
	}
	late := p.onTheWay(s, b.node, b.arrivals)
	s.removeTokens(func(node int, at place) bool {
		if !late(node, at) {
			return false
		}
		shared := common(scope, at).fan
		for f := at.fan; f != shared; f = f.at.fan {
			f.ended = true
		}
		return true
	})
}

// unsatisfiable finds an N join that no further branch can reach.
func (p *Plan) unsatisfiable(s *State) *ending {
	for i := range s.barriers {
		b := &s.barriers[i]
		if b.fan == nil && p.nodes[b.node].join == joinCount && !p.awaited(s, b) {
			return p.starved(b)
		}
	}
	return nil
}

// breakTie acts when every live token waits at a join. Joins that wait for each
// other can't be told apart by reachability: the first in declaration order
// fires. An N join without enough arrivals leaves the run stuck.
func (p *Plan) breakTie(s *State) *ending {
	for i := range s.barriers {
		if p.nodes[s.barriers[i].node].join == joinCount && s.barriers[i].fan == nil {
			continue
		}
		p.fireJoin(s, i)
		return nil
	}
	return p.starved(&s.barriers[0])
}

// starved is the end of a run whose join waits for branches that can't come.
func (p *Plan) starved(b *barrier) *ending {
	n := &p.nodes[b.node]
	failure := &Failure{
		Kind: "stuck", Node: n.id,
		Message: "join " + strconv.Quote(n.id) + " waits for " + strconv.Itoa(n.joinCount) + " branches, " +
			strconv.Itoa(len(b.arrivals)) + " arrived, and no live branch can reach it any more",
	}
	for _, a := range b.arrivals {
		failure.Candidates = append(failure.Candidates, Candidate{
			Edge: -1, To: n.id, Condition: "join", Why: "arrived from " + p.nodes[a.source].id,
		})
	}
	return &ending{status: Stuck, reason: "no_edge", failure: failure}
}

// settleEarly stops the siblings that an any or N join downstream makes useless
// once enough tasks that lead straight to it have succeeded.
func (p *Plan) settleEarly(s *State) {
	if !p.hasCountedJoins || s.readyTasks+s.runningTasks == 0 {
		return
	}
	arrivals := map[int][]arrival{}
	for i := range s.tasks {
		t := &s.tasks[i]
		if node := p.straightTo(t); node != noNode {
			arrivals[node] = append(arrivals[node], arrival{at: t.at})
		}
	}
	for node := range p.nodes {
		if len(arrivals[node]) == 0 {
			continue
		}
		for _, b := range s.barriers {
			if b.node == node && b.fan == nil {
				arrivals[node] = append(arrivals[node], b.arrivals...)
			}
		}
		if len(arrivals[node]) < p.nodes[node].joinCount {
			continue
		}
		late := p.onTheWay(s, node, arrivals[node])
		for i := range s.tasks {
			if t := &s.tasks[i]; late(t.node, t.at) {
				s.cancel(t, "join "+p.nodes[node].id+" has enough branches")
			}
		}
	}
}

// straightTo is the any or N join that a task which succeeded is certain to
// lead to: its only way on. noNode when there is none.
func (p *Plan) straightTo(t *task) int {
	n := &p.nodes[t.node]
	if t.status != succeeded || len(n.conditional)+len(n.decide) > 0 || len(n.plain) != 1 || n.hasEnds || n.gotoExpr != nil {
		return noNode
	}
	to := p.edges[n.plain[0]].to
	if to == endNode || p.nodes[to].join != joinAny && p.nodes[to].join != joinCount {
		return noNode
	}
	return to
}
