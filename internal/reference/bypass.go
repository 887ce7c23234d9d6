// Branches that bypass a join: a failure edge led them off the way to it (§7).

package reference

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// detour is a branch that a failure edge led away from a node from which it would
// have come to a join. It may come back.
type detour struct {
	to     *spec.Node
	auto   *fanout
	places []place // of the branch, and of what has become of it
	passed []*spec.Node
}

func (d *detour) has(at place) bool {
	return slices.ContainsFunc(d.places, func(q place) bool { return q.fan == nil || slices.Contains(at.chain(), q) })
}

func onBypass(n *spec.Node) string {
	if n.Join == nil || n.Join.OnBypass.Value == "" {
		return "drop"
	}
	return n.Join.OnBypass.Value
}

// missing are the branches that have not come back.
func (b *barrier) missing() []*detour {
	return slices.DeleteFunc(slices.Clone(b.detours), func(d *detour) bool {
		return slices.ContainsFunc(b.at, func(a *arrival) bool { return d.has(a.place) })
	})
}

// forgetDead forgets branches of fan-outs that have failed.
func (r *run) forgetDead() {
	r.detours = slices.DeleteFunc(r.detours, func(d *detour) bool {
		return !slices.ContainsFunc(d.places, func(p place) bool { return !p.dead() })
	})
}

// takeDetour notes at the next joins on the ways from a node that a branch left
// these ways. Joins further on hear of it from those, should they not go on.
func (r *run) takeDetour(from *spec.Node, branch place, passed []*spec.Node) {
	var noted []detour
	for _, at := range slices.Backward(branch.chain()) {
		if from == at.fan.source {
			continue // what begins there waits for nobody here
		}
		for _, next := range r.nextJoins(from, at) {
			if slices.Contains(passed, next.to) || slices.ContainsFunc(noted, func(d detour) bool { return d.to == next.to && d.auto == next.auto }) {
				continue
			}
			noted = append(noted, next)
			if !slices.ContainsFunc(r.detours, func(d *detour) bool {
				return d.to == next.to && d.auto == next.auto && d.places[0] == at
			}) {
				r.detours = append(r.detours, &detour{next.to, next.auto, []place{at}, passed})
			}
		}
	}
}

// nextJoins are the joins to which ways lead that pass no other join and not the
// node where the branches began.
func (r *run) nextJoins(from *spec.Node, at place) []detour {
	var out []detour
	var seen []*spec.Node
	queue := []*spec.Node{from}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, s := range r.successors(n) {
			if s == at.fan.source || slices.Contains(seen, s) {
				continue
			}
			seen = append(seen, s)
			if is, auto := r.barrier(s, at); is {
				out = append(out, detour{to: s, auto: auto})
			} else {
				queue = append(queue, s)
			}
		}
	}
	return out
}

// moved follows a token to where it met others, or left fan-outs.
func (r *run) moved(from, to place) {
	for _, d := range r.detours {
		if d.has(from) && !d.has(to) {
			d.places = append(d.places, to)
		}
	}
}

// forgive takes a branch that failed for good from those that bypass a join, where
// it could still have come to it, or its error goes to the join. The branches in it
// are gone with it.
func (r *run) forgive(branch place, f *failure) {
	n := r.graph.Node(f.node)
	inside := func(p place) bool { return p != branch && slices.Contains(p.chain(), branch) }
	r.detours = slices.DeleteFunc(r.detours, func(d *detour) bool {
		if !slices.ContainsFunc(d.places, func(p place) bool { return !inside(p) }) {
			return true
		}
		return d.has(branch) && (r.policy(branch.fan.source) == "wait_all" || n != nil && r.reaches(n, d.to, branch.fan.source))
	})
}

// dropJoin ends the branches that wait at a join; they bypass the next in turn.
func (r *run) dropJoin(b *barrier, missing []*detour) {
	r.degraded = true
	r.waiting = slices.DeleteFunc(r.waiting, func(a *arrival) bool { return slices.Contains(b.at, a) })
	var places []place
	passed := []*spec.Node{b.to}
	for _, d := range missing {
		places = append(places, d.places[0])
		passed = append(passed, d.passed...)
	}
	for _, a := range b.at {
		places = append(places, a.place)
	}
	r.takeDetour(b.to, common(places), passed)
	r.foldAll()
}

// failJoin makes a join fail instead of running.
func (r *run) failJoin(b *barrier, missing []*detour) {
	r.waiting = slices.DeleteFunc(r.waiting, func(a *arrival) bool { return slices.Contains(b.at, a) })
	t := &task{node: b.to, inputs: map[string]any{}, branches: map[string]any{}, bypassed: true}
	if len(b.at) > 0 {
		t.place = r.gather(b)
	} else {
		var places []place
		for _, d := range missing {
			places = append(places, d.places[0])
		}
		t.place = common(places)
		for t.place.fan != nil && !r.alive(t.place.fan, nil) {
			t.place = t.place.fan.at
		}
	}
	r.next = append(r.next, t)
}
