// Looking for a path that breaks a policy: a search over nodes and what is
// known of the state on the way.

package lint

import (
	"fmt"
	"slices"
)

// hunt is a search from the start for a path that leads through one vertex to
// another.
type hunt struct {
	f *facts
	// through is the node that the path must have left, -1 for none; to is where
	// it ends, unless stop says so.
	through, to int
	// allows says which groups may be taken; those that are proven dead never are.
	allows func(at *quarry, g *group) bool
	// stop, when set, says at which vertices the path may end.
	stop func(v int) bool
	// accept, when set, asks of what is known at the end.
	accept func(k *knowledge) bool
	// begin is what is known at the start, nil for nothing.
	begin *knowledge
	// all says, once the hunt is over, that every way was followed.
	all bool
}

// maxHunts bounds a hunt; beyond it nothing is said.
const maxHunts = 2000

// quarry is a state of a hunt.
type quarry struct {
	at     int
	passed bool
	know   *knowledge
	from   *quarry
}

// path is a shortest path that breaks the policy; nil when there is none, or
// none was found among the first.
func (h *hunt) path() []int {
	begin := h.begin
	if begin == nil {
		begin = h.f.ignorance()
	}
	todo := []*quarry{{at: h.f.start(), passed: h.through < 0, know: begin}}
	seen := map[string]bool{}
	for len(todo) > 0 && len(seen) <= maxHunts {
		q := todo[0]
		todo = todo[1:]
		if h.caught(q) {
			return q.path()
		}
		for _, next := range h.steps(q) {
			if key := fmt.Sprint(next.at, next.passed, next.know.key()); !seen[key] {
				seen[key] = true
				todo = append(todo, next)
			}
		}
	}
	h.all = len(todo) == 0
	return nil
}

func (h *hunt) caught(q *quarry) bool {
	switch {
	case !q.passed || q.from == nil && h.through >= 0:
		return false
	case h.stop != nil:
		return h.stop(q.at)
	}
	return q.at == h.to && (h.accept == nil || h.accept(q.know))
}

func (h *hunt) steps(q *quarry) []*quarry {
	if q.at >= len(h.f.graph.Nodes) {
		return nil
	}
	var out []*quarry
	groups := h.f.flow().groups[q.at]
	for i := range groups {
		g := &groups[i]
		if h.f.isDead(g) || h.allows != nil && !h.allows(q, g) {
			continue
		}
		know := q.know.clone()
		know.run(q.at)
		know = know.onward(groups, i)
		for _, t := range g.targets {
			if know.bad {
				continue
			}
			there := know.clone()
			there.enter(t)
			out = append(out, &quarry{t, q.passed || q.at == h.through, there, q})
		}
	}
	return out
}

func (q *quarry) path() []int {
	var path []int
	for ; q != nil; q = q.from {
		path = append(path, q.at)
	}
	slices.Reverse(path)
	return path
}
