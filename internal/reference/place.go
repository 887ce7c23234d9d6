// Places: which branch of which fan-out a token is on (§7).

package reference

import (
	"cmp"
	"slices"
	"time"

	"github.com/graphrun/graphrun/spec"
)

// fanout is one time that several edges fired at once.
type fanout struct {
	id     int // by their beginnings
	source *spec.Node
	at     place        // of the token that fanned out
	starts []*spec.Node // of the branches; nil: END
	auto   *spec.Node   // the join that nobody declared
	errors []laneError
	ends   []time.Duration // when the time of its branches is over
	// well says that something on it came through: it reached END, met branches
	// of a fan-out around it, or lost a race.
	well bool
	// over says that nothing is alive on it, dead that a failure ended it.
	over, dead bool
}

// laneError is a branch that failed, as the order-th of all that finished.
type laneError struct {
	lane, order int
	failure     *failure
	given       bool // to a join
}

// place is a lane of a fan-out; the zero place is the trunk.
type place struct {
	fan  *fanout
	lane int
}

// chain lists the lanes around a place, the outermost first.
func (p place) chain() []place {
	if p.fan == nil {
		return nil
	}
	return append(p.fan.at.chain(), p)
}

func (p place) within(f *fanout) bool {
	return slices.ContainsFunc(p.chain(), func(q place) bool { return q.fan == f })
}

func (p place) dead() bool {
	return slices.ContainsFunc(p.chain(), func(q place) bool { return q.fan.dead })
}

// shared is the innermost fan-out that two places are in; nil: there is none.
func shared(p, q place) *fanout {
	var out *fanout
	x, y := p.chain(), q.chain()
	for i := range min(len(x), len(y)) {
		if x[i].fan != y[i].fan {
			break
		}
		out = x[i].fan
		if x[i].lane != y[i].lane {
			break
		}
	}
	return out
}

// common is the place that several places have in common when they are one:
// the lane declared first of the fan-out where they meet.
func common(places []place) place {
	out := places[0].chain()
	for _, p := range places[1:] {
		other := p.chain()
		for i := range out {
			if i >= len(other) || out[i].fan != other[i].fan {
				out = out[:i]
				break
			}
			if out[i].lane != other[i].lane {
				out = append(slices.Clone(out[:i]), place{out[i].fan, min(out[i].lane, other[i].lane)})
				break
			}
		}
	}
	if len(out) == 0 {
		return place{}
	}
	return out[len(out)-1]
}

func sortByDeclaration(list []*task) {
	slices.SortStableFunc(list, func(a, b *task) int { return declaration(a.place, b.place) })
}

func declaration(p, q place) int {
	x, y := p.chain(), q.chain()
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return cmp.Or(x[i].fan.id-y[i].fan.id, x[i].lane-y[i].lane)
		}
	}
	return len(x) - len(y)
}

// alive reports whether a token is on a fan-out, but for a task's.
func (r *run) alive(f *fanout, but *task) bool {
	for _, t := range slices.Concat(r.next, r.parked) {
		if t != but && t.place.within(f) {
			return true
		}
	}
	return slices.ContainsFunc(r.waiting, func(a *arrival) bool { return a.place.within(f) }) ||
		slices.ContainsFunc(r.moving, func(p place) bool { return p.within(f) })
}

// reaches reports whether a token at a node can come to another one on a way
// that does not pass the node to avoid.
func (r *run) reaches(from, to, avoid *spec.Node) bool {
	if from == avoid {
		return false
	}
	seen := map[*spec.Node]bool{}
	queue := []*spec.Node{from}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, s := range r.successors(n) {
			if s == to {
				return true
			}
			if !seen[s] && s != avoid {
				seen[s] = true
				queue = append(queue, s)
			}
		}
	}
	return false
}

func (r *run) successors(n *spec.Node) []*spec.Node {
	var out []*spec.Node
	add := func(id string) {
		if s := r.graph.Node(id); s != nil {
			out = append(out, s)
		}
	}
	for _, e := range r.graph.Edges {
		if e.From.Value == n.ID.Value {
			add(e.To.Value)
		}
	}
	for _, e := range n.Ends {
		add(e.Target.Value)
	}
	if n.Goto.IsSet() && !n.HasEnds {
		return r.graph.Nodes
	}
	return out
}

// policy is what a failed branch, or element, of a node does to the others.
func (r *run) policy(n *spec.Node) string {
	if n.Parallel != nil && n.Parallel.OnFailure != "" {
		return n.Parallel.OnFailure
	}
	return r.graph.Parallel.OnFailure
}

func (r *run) conflict(f *fanout) string {
	if f != nil && f.source.Parallel != nil && f.source.Parallel.Conflict != "" {
		return f.source.Parallel.Conflict
	}
	return r.graph.Parallel.Conflict
}
