// Joins: what they wait for, when they run, what they cancel (§7).

package reference

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// arrival is a token that waits at a join. A ghost stands for a fan-out all of
// whose branches failed where their errors were to be waited for.
type arrival struct {
	token
	auto  *fanout // whose join it is, if nobody declared it
	ghost bool
	over  *fanout
}

// barrier reports whether a token has to wait at a node, and for which fan-out
// it is that the node joins without saying so.
func (r *run) barrier(n *spec.Node, at place) (is bool, auto *fanout) {
	if n.Join != nil {
		return true, nil
	}
	for _, p := range slices.Backward(at.chain()) {
		if p.fan.auto == n {
			return true, p.fan
		}
	}
	return false, nil
}

// barrier is a join with what has arrived, and the branches that left the way to
// it by a failure edge.
type barrier struct {
	to      *spec.Node
	auto    *fanout
	at      []*arrival
	detours []*detour
}

// barriers lists the joins, in the order of the file, those of fan-outs last.
func (r *run) barriers() []*barrier {
	r.forgetDead()
	var out []*barrier
	for _, n := range r.graph.Nodes {
		for _, f := range append([]*fanout{nil}, r.fanouts...) {
			b := &barrier{to: n, auto: f}
			for _, a := range r.waiting {
				if a.to == n && a.auto == f {
					b.at = append(b.at, a)
				}
			}
			for _, d := range r.detours {
				if d.to == n && d.auto == f {
					b.detours = append(b.detours, d)
				}
			}
			if len(b.at)+len(b.detours) > 0 {
				out = append(out, b)
			}
		}
	}
	return out
}

// places are where the tokens are that a join is about.
func (b *barrier) places() []place {
	var out []place
	for _, a := range b.at {
		out = append(out, a.place)
	}
	for _, d := range b.detours {
		out = append(out, d.places...)
	}
	return out
}

// late reports whether a token elsewhere can still come to the join for one that
// waits there.
func (r *run) late(b *barrier, at place, node *spec.Node) bool {
	if b.auto != nil && !at.within(b.auto) {
		return false
	}
	return slices.ContainsFunc(b.places(), func(q place) bool {
		f := shared(at, q)
		return f != nil && r.reaches(node, b.to, f.source)
	})
}

// awaited reports whether any token that does not wait there can.
func (r *run) awaited(b *barrier) bool {
	for _, t := range slices.Concat(r.next, r.parked) {
		if r.late(b, t.place, t.node) {
			return true
		}
	}
	return slices.ContainsFunc(r.waiting, func(o *arrival) bool {
		return (o.to != b.to || o.auto != b.auto) && r.late(b, o.place, o.to)
	}) || slices.ContainsFunc(r.detours, func(d *detour) bool { return r.mayPass(d, b) })
}

// mayPass reports whether a branch that bypasses another join may turn out to
// bypass this one.
func (r *run) mayPass(d *detour, b *barrier) bool {
	return (d.to != b.to || d.auto != b.auto) && !slices.Contains(d.passed, b.to) &&
		slices.ContainsFunc(d.places, func(at place) bool { return r.late(b, at, d.to) })
}

// need is how many arrivals a join waits for; 0: all.
func need(n *spec.Node) int {
	switch {
	case n.Join == nil || n.Join.Wait == "all":
		return 0
	case n.Join.Wait == "any":
		return 1
	}
	return n.Join.Count
}

// fire settles the joins that wait no longer, one by one: what it ends may settle
// others. When all tokens wait for each other, joins give way in the order of the
// file.
func (r *run) fire() {
	for r.result.Status == "" {
		list := r.barriers()
		if i := slices.IndexFunc(list, r.satisfied); i >= 0 {
			r.settleJoin(list[i])
			continue
		}
		for _, b := range list {
			if need(b.to) > 0 && len(b.at) > 0 && !r.awaited(b) {
				r.end("stuck", "no_edge", Error{"stuck", b.to.ID.Value})
				return
			}
		}
		if len(r.next)+len(r.parked) > 0 || !r.breakTie(list) {
			return
		}
	}
}

func (r *run) breakTie(list []*barrier) bool {
	for _, b := range list {
		if len(b.at) > 0 && need(b.to) == 0 {
			r.settleJoin(b)
			return true
		}
	}
	for _, b := range list {
		if len(b.at) > 0 {
			r.end("stuck", "no_edge", Error{"stuck", b.to.ID.Value})
			return true
		}
	}
	if len(list) > 0 { // of joins that branches bypass and none has come to
		r.settleJoin(list[0])
	}
	return len(list) > 0
}

// satisfied reports whether a join waits no longer.
func (r *run) satisfied(b *barrier) bool {
	if want := need(b.to); want > 0 && len(b.at) > 0 {
		return len(b.at) >= want || slices.ContainsFunc(b.at, func(a *arrival) bool { return a.ghost })
	}
	return !r.awaited(b) && (need(b.to) > 0 || !r.lasts(b))
}

// lasts reports whether a branch is at work whose end a join waits for, although
// it can't come there any more: under wait_all one that could have come, and one
// that bypasses a join which then fails.
func (r *run) lasts(b *barrier) bool {
	for _, t := range slices.Concat(r.next, r.parked) {
		if onBypass(b.to) == "fail" && slices.ContainsFunc(b.missing(), func(d *detour) bool { return d.has(t.place) }) {
			return true
		}
		for _, q := range b.places() {
			for _, around := range q.chain() {
				for _, o := range t.place.chain() {
					if o.fan == around.fan && r.policy(o.fan.source) == "wait_all" && r.leadsTo(o.fan, o.lane, b.to) {
						return true
					}
				}
			}
		}
	}
	return false
}

// settleJoin lets a join go on, or does what its on_bypass says.
func (r *run) settleJoin(b *barrier) {
	missing := b.missing()
	r.detours = slices.DeleteFunc(r.detours, func(d *detour) bool { return slices.Contains(b.detours, d) })
	switch {
	case len(b.at) > 0 && (len(missing) == 0 || onBypass(b.to) == "continue" || need(b.to) > 0):
		r.runJoin(b)
	case onBypass(b.to) == "fail":
		r.failJoin(b, missing)
	default:
		r.dropJoin(b, missing)
	}
}

// cancelUseless ends what is still on its way to a join that runs.
func (r *run) cancelUseless(b *barrier) {
	r.detours = slices.DeleteFunc(r.detours, func(d *detour) bool { return r.late(b, d.places[0], d.to) })
	r.cancel(func(p place, node *spec.Node) bool {
		if !r.late(b, p, node) {
			return false
		}
		b.outran(p)
		return true
	}, b.at...)
}

// outran notes that the fan-outs a token leaves, which lost the race to a join,
// have not failed.
func (b *barrier) outran(p place) {
	var places []place
	for _, a := range b.at {
		places = append(places, a.place)
	}
	scope := common(places)
	for _, q := range p.chain() {
		if !scope.within(q.fan) {
			q.fan.well = true
		}
	}
}

// runJoin runs a join for the tokens that have arrived.
func (r *run) runJoin(b *barrier) {
	r.waiting = slices.DeleteFunc(r.waiting, func(a *arrival) bool { return slices.Contains(b.at, a) })
	if need(b.to) > 0 {
		r.cancelUseless(b)
	}
	t := &task{node: b.to, inputs: map[string]any{}, branches: map[string]any{}}
	for _, a := range b.at {
		if a.ghost {
			continue
		}
		id := a.from.node.ID.Value
		if !slices.Contains(t.from, id) {
			t.from = append(t.from, id)
		}
		t.inputs[id] = a.input
		t.branches[id] = map[string]any{"output": a.output, "error": nil}
	}
	t.input = t.inputs
	came := slices.DeleteFunc(slices.Clone(b.at), func(a *arrival) bool { return a.ghost })
	if len(came) == 1 {
		t.input = came[0].input
	}
	t.place = r.gather(b)
	r.give(t, b.at)
	r.next = append(r.next, t)
}

// gather is where the tokens of a join are as one.
func (r *run) gather(b *barrier) place {
	var places []place
	for _, a := range b.at {
		places = append(places, a.place)
	}
	to := r.leaves(meetAt(places), b.to, nil)
	for _, q := range b.places() {
		r.moved(q, to)
	}
	return to
}

// give gives a join the errors of the branches that failed on the way to it:
// those of fan-outs that the arrivals are on, whose beginning led to it; of a node
// where several failed, that of the last.
func (r *run) give(t *task, at []*arrival) {
	last := map[string]int{}
	for _, f := range r.fanouts {
		on := func(a *arrival) bool { return a.place.within(f) || a.over == f }
		if !slices.ContainsFunc(at, on) {
			continue
		}
		for i := range f.errors {
			e := &f.errors[i]
			if e.given || !r.leadsTo(f, e.lane, t.node) {
				continue
			}
			e.given = true
			if id := e.failure.node; t.branches[id] == nil || last[id] > 0 && last[id] < e.order {
				t.branches[id] = map[string]any{"output": nil, "error": e.failure.data()}
				last[id] = e.order
			}
		}
	}
}

// settle cancels, while a superstep is open, what the tasks that are done make
// useless: by a failure, or by being enough for a join.
func (r *run) settle() {
	for _, t := range r.open {
		if t.status == done && !t.away && t.failure != nil && !r.mayCatch(t) {
			r.settleFailure(t.place)
		}
	}
	for _, n := range r.graph.Nodes {
		want := need(n)
		if n.Join == nil || want == 0 {
			continue
		}
		b := &barrier{to: n}
		for _, a := range r.waiting {
			if a.to == n {
				b.at = append(b.at, a)
			}
		}
		for _, t := range r.open {
			for range r.surelyTo(t, n) {
				b.at = append(b.at, &arrival{token: token{place: t.place, from: t, to: n}})
			}
		}
		if len(b.at) >= want {
			r.cancelTasks(func(p place, node *spec.Node) bool {
				is := r.late(b, p, node)
				if is {
					b.outran(p)
				}
				return is
			})
		}
	}
}

func (r *run) settleFailure(p place) {
	for ; p.fan != nil; p = p.fan.at {
		if r.policy(p.fan.source) != "fail_all" {
			return
		}
		r.cancelTasks(func(at place, _ *spec.Node) bool { return at.within(p.fan) })
	}
	r.cancelTasks(func(place, *spec.Node) bool { return true })
}

func (r *run) mayCatch(t *task) bool {
	choices, plain, always := r.candidates(t)
	return len(choices)+len(plain)+len(always) > 0
}

// surelyTo counts the edges to a node that are certain to fire after a task.
func (r *run) surelyTo(t *task, n *spec.Node) int {
	if t.status != done || t.away || t.failure == nil && (t.node.Goto.IsSet() || t.node.HasEnds) && !t.skipped {
		return 0
	}
	choices, plain, always := r.candidates(t)
	if len(choices) > 0 && !t.skipped {
		return 0
	}
	if len(plain) == 0 {
		plain = always
	}
	return len(slices.DeleteFunc(plain, func(e *spec.Edge) bool { return e.To.Value != n.ID.Value }))
}
