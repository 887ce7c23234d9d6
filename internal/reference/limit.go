// Limits of time (§2, §7), and the nodes that run at the end (§2).

package reference

import (
	"slices"
	"time"

	"github.com/graphrun/graphrun/spec"
)

// expiry is a branch that ran out of time.
type expiry struct {
	branch  place
	failure *failure
	order   int
}

// never is later than anything happens.
const never = time.Duration(1 << 62)

func (r *run) branchTimeout(f *fanout) time.Duration {
	if own := f.source.Parallel; own != nil && own.BranchTimeout > 0 {
		return own.BranchTimeout
	}
	return r.graph.Parallel.BranchTimeout
}

// shiftLimits moves the limits that stand still.
func (r *run) shiftLimits(by time.Duration) {
	if r.deadline > 0 {
		r.deadline += by
	}
	for _, f := range r.fanouts {
		for lane := range f.ends {
			f.ends[lane] += by
		}
	}
}

// limitComes lets the next limit of time happen, if one comes before a moment.
func (r *run) limitComes(before time.Duration) bool {
	if r.final {
		return false
	}
	first, fire := before, func() {}
	found := false
	try := func(at time.Duration, do func()) {
		if at > 0 && (at < first || at == first && !found) { // it began before what ends then
			first, fire, found = at, do, true
		}
	}
	over := func() {
		r.end("limit", "timeout", Error{"timeout", ""})
	}
	try(r.deadline, over)
	try(r.stepEnds, over)
	for _, f := range r.fanouts {
		for lane := range f.ends {
			if !f.dead {
				try(f.ends[lane], func() { r.branchOver(f, lane) })
			}
		}
	}
	if found {
		r.now = first
		fire()
	}
	return found
}

// branchOver is the end of a branch's time.
func (r *run) branchOver(f *fanout, lane int) {
	branch := place{f, lane}
	f.ends[lane] = never
	on := func(at place) bool { return slices.Contains(at.chain(), branch) }
	var work *task
	held := false
	for _, t := range slices.Concat(r.open, r.parked) {
		switch {
		case !on(t.place) || work != nil:
		case t.expired != nil:
			held = held || t.expired.branch != branch && on(t.expired.branch)
		case t.status == dropped:
		case t.status == done && !t.away:
			held = true
		default:
			work = t
		}
	}
	held = held || slices.ContainsFunc(r.next, func(t *task) bool { return on(t.place) })
	if work == nil {
		if held {
			f.ends[lane] = r.now + r.branchTimeout(f)
		}
		return
	}
	for _, inner := range r.fanouts {
		inner.dead = inner.dead || on(inner.at)
	}
	r.order++
	over := &expiry{branch, &failure{kind: "timeout", node: work.node.ID.Value}, r.order}
	inStep := false
	for _, t := range r.open {
		if on(t.place) {
			t.expired, inStep = over, true
		}
	}
	r.cancelTasks(func(at place, _ *spec.Node) bool { return on(at) })
	r.cancel(func(at place, _ *spec.Node) bool { return on(at) })
	if inStep {
		r.expired = append(r.expired, over)
		return
	}
	r.fails(branch, over.failure, over.order)
}

// cancelledIn are the tasks of a superstep that branches out of time have lost.
func (r *run) cancelledIn(open []*task) []*task {
	var out []*task
	for _, t := range open {
		if t.expired != nil && t.status == dropped {
			out = append(out, t)
		}
	}
	return out
}

// runFinally runs the nodes of finally one after the other.
func (r *run) runFinally() {
	decided := r.result
	r.result, r.final = Result{}, true
	r.open, r.parked, r.events, r.fanouts, r.stepEnds, r.deadline = nil, nil, nil, nil, 0, 0
	for _, name := range r.graph.Finally {
		r.next = []*task{{node: r.graph.Node(name.Value), input: map[string]any{}, inputs: map[string]any{}}}
		for len(r.next)+len(r.parked) > 0 {
			r.turn()
		}
	}
	decided.Inside += r.result.Inside
	decided.AtOnce = decided.AtOnce || r.result.AtOnce
	r.result = decided
}

func (r *run) enterFinally(t *task) {
	rec := r.records[t.node.ID.Value]
	rec.visits++
	rec.output = nil
	t.visit = rec.visits
	r.execute(t)
}

// closeFinally writes what a node of finally came to.
func (r *run) closeFinally(list []*task) {
	r.write(list)
	for _, t := range list {
		r.record(t)
		if t.failure != nil || t.lost {
			r.degraded = true
		}
	}
}
