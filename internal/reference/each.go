// Elements: a node that runs once for each of a list (§7).

package reference

import (
	"cmp"
	"math"
	"slices"
	"time"
)

func (r *run) enterEach(t *task) {
	t.isEach = true
	v, err := r.eval(t.node.Each.Value, r.env(t, nil))
	list, ok := v.([]any)
	if err != nil || !ok {
		t.failure = &failure{kind: "expression", node: t.node.ID.Value}
		r.finish(t)
		return
	}
	for i, item := range list {
		t.units = append(t.units, &unit{element: i + 1, item: item, state: ready})
	}
	t.status = ready
	for _, u := range t.units {
		if t.status == ready || t.status == running {
			r.begin(t, u)
		}
	}
	if len(list) == 0 {
		r.endEach(t)
	}
}

// endElement decides, by the node's policy, what a failed element means.
func (r *run) endElement(t *task, u *unit) {
	if u.failure != nil && r.policy(t.node) == "fail_all" {
		t.failure = u.failure
		for _, other := range t.units {
			if other.state != done {
				other.state = dropped
			}
		}
		r.forget(t)
		r.finish(t)
		return
	}
	if !slices.ContainsFunc(t.units, func(u *unit) bool { return u.state != done }) {
		r.endEach(t)
		return
	}
	r.restEach(t)
}

func (r *run) endEach(t *task) {
	list := []any{}
	failed := 0
	for _, u := range t.units {
		switch {
		case u.failure == nil:
			list = append(list, u.output)
			continue
		case r.policy(t.node) == "wait_all":
			list = append(list, map[string]any{"error": u.failure.data()})
		default:
			list = append(list, nil)
		}
		failed++
	}
	t.output, t.lost = list, failed > 0
	if failed > 0 && failed == len(t.units) && r.policy(t.node) != "wait_all" {
		t.failure = t.units[0].failure
		t.output = nil
	}
	r.finish(t)
}

// inTurn lists the units that wait for a slot: elements that come back from waiting
// first, in the order in which they do.
func (t *task) inTurn() []*unit {
	list := slices.DeleteFunc(slices.Clone(t.units), func(u *unit) bool { return u.state != ready })
	slices.SortStableFunc(list, func(a, b *unit) int {
		return cmp.Compare(cmp.Or(a.back, math.MaxInt), cmp.Or(b.back, math.MaxInt))
	})
	return list
}

// room reports whether the node lets another element run.
func (t *task) room() bool {
	busy := 0
	for _, u := range t.units {
		if u.state == running {
			busy++
		}
	}
	return t.node.MaxConcurrency == 0 || busy < t.node.MaxConcurrency
}

// rest lets an attempt's unit wait before it runs again. A task parks when nothing
// else of it runs or is to run.
func (r *run) rest(t *task, u *unit, what happening, waiting ...time.Duration) {
	if !t.isEach {
		u.state = ready
		r.park(t, retries, what, waiting...)
		return
	}
	u.state, u.questions = retries, len(waiting)
	for _, d := range waiting {
		r.schedule(d, t, u, what)
	}
	r.restEach(t)
}

func (r *run) restEach(t *task) {
	if !slices.ContainsFunc(t.units, func(u *unit) bool { return u.state == ready || u.state == running }) {
		r.park(t, retries, timeComes)
	}
}

// elementAwake reports whether an element that waits no longer lets its task, which
// is parked, go on.
func (r *run) elementAwake(t *task, u *unit) bool {
	if u.questions--; u.questions > 0 {
		return false
	}
	r.order++
	u.state, u.back = ready, r.order
	return slices.Contains(r.parked, t)
}
