// Tokens on their way: fan-outs, failures, and where they meet (§7).

package reference

import (
	"cmp"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// token is on its way from a task to a node.
type token struct {
	place  place
	from   *task
	to     *spec.Node
	input  any
	twin   bool
	output any // of the node that it comes from
}

// leave makes the tokens that go on from a task.
func (r *run) leave(t *task, moves []move) []*token {
	at := make([]place, len(moves))
	for i := range at {
		at[i] = t.place
	}
	if len(moves) > 1 {
		f := &fanout{id: len(r.fanouts), source: t.node, at: t.place}
		for _, m := range moves {
			f.starts = append(f.starts, r.graph.Node(m.to))
		}
		if r.joinsItself(t.node) {
			f.auto = r.meeting(f.starts, false)
		}
		r.fanouts = append(r.fanouts, f)
		if limit := r.branchTimeout(f); limit > 0 {
			for range moves {
				f.ends = append(f.ends, r.now+limit)
			}
		}
		for i := range at {
			at[i] = place{f, i}
		}
	}
	var out []*token
	for i, m := range moves {
		out = append(out, &token{place: at[i], from: t, to: r.graph.Node(m.to), input: m.input, twin: m.twin, output: t.output})
	}
	return out
}

func (r *run) joinsItself(n *spec.Node) bool {
	if n.Parallel != nil && n.Parallel.Join != "" {
		return n.Parallel.Join == "auto"
	}
	return r.graph.Parallel.Join == "auto"
}

// meeting is the first node that all branches of a fan-out can reach: the one
// with the shortest longest way, then the one declared first. With joins, it is
// a node with a join.
func (r *run) meeting(starts []*spec.Node, joins bool) *spec.Node {
	var best *spec.Node
	least := 0
	for _, n := range r.graph.Nodes {
		if joins && n.Join == nil {
			continue
		}
		longest := 0
		for _, start := range starts {
			d := r.distance(start, n)
			if d < 0 {
				longest = -1
				break
			}
			longest = max(longest, d)
		}
		if longest >= 0 && (best == nil || longest < least) {
			best, least = n, longest
		}
	}
	return best
}

// distance is the number of edges from a node to another; -1: there is no way.
func (r *run) distance(from, to *spec.Node) int {
	if from == nil {
		return -1
	}
	at := map[*spec.Node]int{from: 0}
	queue := []*spec.Node{from}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if n == to {
			return at[n]
		}
		for _, s := range r.successors(n) {
			if _, seen := at[s]; !seen {
				at[s] = at[n] + 1
				queue = append(queue, s)
			}
		}
	}
	return -1
}

// settleTokens brings tokens to where they go, after the failures that nothing
// caught.
func (r *run) settleTokens(tokens []*token, lost []*task) {
	slices.SortStableFunc(lost, func(a, b *task) int { return a.order - b.order })
	for _, k := range tokens {
		r.moving = append(r.moving, k.place)
	}
	for _, t := range lost {
		r.moving = append(r.moving, t.place)
	}
	gone := func(p place) { // one of those that have failed
		i := len(tokens) + slices.Index(r.moving[len(tokens):], p)
		r.moving = slices.Delete(r.moving, i, i+1)
	}
	for _, t := range lost {
		if t.expired != nil {
			continue // as long as its branch has not been judged
		}
		if gone(t.place); !t.place.dead() {
			r.fails(t.place, t.failure, t.order)
			r.foldAll()
		}
	}
	for _, over := range r.expired {
		for _, t := range lost {
			if t.expired == over {
				gone(t.place)
			}
		}
		if !over.branch.dead() {
			r.fails(over.branch, over.failure, over.order)
			r.foldAll()
		}
	}
	r.moving, r.expired = nil, nil
	if r.result.Status != "" {
		return
	}
	for _, k := range tokens {
		if k.place.dead() {
			continue
		}
		if k.from.failure != nil && !k.from.detoured {
			k.from.detoured = true
			r.takeDetour(k.from.node, k.from.place, nil)
		}
		r.settleToken(k)
	}
	r.foldAll()
	if r.result.Status != "" {
		return
	}
	r.mergeNext()
	if r.outOfSteps {
		r.limit()
		return
	}
	r.fire()
}

// settleToken brings one where it goes; at END it ends.
func (r *run) settleToken(k *token) {
	if k.to == nil {
		r.result.Output = k.output
		for _, q := range k.place.chain() {
			q.fan.well = true
		}
		return
	}
	if is, auto := r.barrier(k.to, k.place); is {
		r.waiting = append(r.waiting, &arrival{token: *k, auto: auto})
		return
	}
	id := k.from.node.ID.Value
	r.next = append(r.next, &task{
		node: k.to, place: k.place, twin: k.twin, from: []string{id}, inputs: map[string]any{id: k.input}, input: k.input,
	})
}

// fails is a failure on a place that no edge takes.
func (r *run) fails(p place, f *failure, order int) {
	if p.fan == nil {
		reason, status := "node_failed", "failed"
		if f.kind == "max_visits" {
			reason, status = "max_visits", "limit"
		}
		r.end(status, reason, Error{f.kind, f.node})
		return
	}
	if r.policy(p.fan.source) != "fail_all" {
		r.degraded = true
		r.forgive(p, f)
		p.fan.errors = append(p.fan.errors, laneError{lane: p.lane, order: order, failure: f})
		return
	}
	r.cancelTasks(func(at place, _ *spec.Node) bool { return at.within(p.fan) })
	r.cancel(func(at place, _ *spec.Node) bool { return at.within(p.fan) })
	p.fan.dead = true
	r.fails(p.fan.at, f, order)
}

// cancelTasks ends tasks of the open superstep: what they do is not done.
func (r *run) cancelTasks(useless func(place, *spec.Node) bool) {
	for _, t := range r.open {
		if !t.away && (t.status == running || t.status == ready || t.status == fresh) && useless(t.place, t.node) {
			r.drop(t)
		}
	}
}

// cancel ends all other tokens, but for some that wait at a join.
func (r *run) cancel(useless func(place, *spec.Node) bool, but ...*arrival) {
	dropped := func(t *task) bool {
		if !useless(t.place, t.node) {
			return false
		}
		r.drop(t)
		return true
	}
	r.parked = slices.DeleteFunc(r.parked, dropped)
	r.next = slices.DeleteFunc(r.next, dropped)
	r.waiting = slices.DeleteFunc(r.waiting, func(a *arrival) bool {
		return !slices.Contains(but, a) && useless(a.place, a.to)
	})
}

func (r *run) drop(t *task) {
	if t.step > 0 {
		r.steps--
	}
	t.status = dropped
	r.forget(t)
}

// foldAll ends the fan-outs on which nothing is alive: those that failed whole
// fail the branch around them.
func (r *run) foldAll() {
	for again := true; again; {
		again = false
		for _, f := range slices.Backward(r.fanouts) {
			if f.over || f.dead || f.at.dead() || r.alive(f, nil) || r.result.Status != "" {
				continue
			}
			f.over, again = true, true
			if !f.well && len(f.errors) > 0 {
				r.failedWhole(f)
			}
		}
	}
}

func (r *run) failedWhole(f *fanout) {
	first := slices.MinFunc(f.errors, func(a, b laneError) int { return cmp.Or(a.lane-b.lane, a.order-b.order) })
	if r.policy(f.source) == "wait_all" {
		j := f.auto
		if j == nil {
			j = r.meeting(f.starts, true)
		}
		if j != nil {
			a := &arrival{token: token{place: f.at, to: j}, ghost: true, over: f}
			if j.Join == nil {
				a.auto = f
			}
			r.waiting = append(r.waiting, a)
			return
		}
	}
	r.fails(f.at, first.failure, first.order)
}

// mergeNext lets tokens that come to one node at once be one task.
func (r *run) mergeNext() {
	var out []*task
	rest := r.next
	for len(rest) > 0 {
		t := rest[0]
		same := []*task{t}
		var others []*task
		for _, o := range rest[1:] {
			if o.node == t.node && o.status == fresh && t.status == fresh && o.branches == nil && t.branches == nil && !o.twin && !t.twin {
				same = append(same, o)
			} else {
				others = append(others, o)
			}
		}
		r.next = slices.Concat(out, others)
		if len(same) > 1 {
			t = r.merge(same)
		}
		out = append(out, t)
		rest = others
	}
	r.next = out
	for _, t := range out {
		if t.merged {
			t.merged = false
			was := t.place
			t.place = r.leaves(was, t.node, t)
			r.moved(was, t.place)
		}
	}
}

// merge makes one task of several at one node. The tasks are in no list.
func (r *run) merge(same []*task) *task {
	t := same[0]
	var places []place
	for _, s := range same {
		places = append(places, s.place)
		for _, id := range s.from {
			if !slices.Contains(t.from, id) {
				t.from = append(t.from, id)
			}
			t.inputs[id] = s.inputs[id]
		}
	}
	t.place, t.merged = meetAt(places), true
	for _, q := range places {
		r.moved(q, t.place)
	}
	t.input = t.inputs
	return t
}

// meetAt is where tokens are that have met: on the lane declared first. They
// came through on the fan-outs that they leave.
func meetAt(places []place) place {
	p := common(places)
	for _, q := range places {
		for _, inner := range q.chain()[len(p.chain()):] {
			inner.fan.well = true
		}
	}
	return p
}

// leaves takes tokens that have met at a node out of the fan-outs that end there:
// nothing else is alive on them, several of their branches could have come, and none
// of them bypasses another join that still waits for what becomes of it.
func (r *run) leaves(p place, n *spec.Node, but *task) place {
	bypasses := func(d *detour) bool { return d.places[0].within(p.fan) }
	for p.fan != nil && !r.alive(p.fan, but) && r.endsAt(p.fan, n) && !slices.ContainsFunc(r.detours, bypasses) {
		p.fan.over = true
		p = p.fan.at
	}
	return p
}

func (r *run) endsAt(f *fanout, n *spec.Node) bool {
	ways := 0
	for lane := range f.starts {
		if r.leadsTo(f, lane, n) {
			ways++
		}
	}
	return ways > 1
}

// leadsTo reports whether a branch, as it began, could have come to a node.
func (r *run) leadsTo(f *fanout, lane int, n *spec.Node) bool {
	start := f.starts[lane]
	return start != nil && (start == n || r.reaches(start, n, f.source))
}

// limit ends a run that has no steps left.
func (r *run) limit() {
	switch r.graph.Limits.OnMaxSteps {
	case "return_last", "flag":
		r.degraded = true
		r.result.Limited = r.graph.Limits.OnMaxSteps == "flag"
		r.result.Output = r.last
		r.end("completed", "max_steps", Error{})
	default:
		r.end("limit", "max_steps", Error{"max_steps", ""})
	}
}
