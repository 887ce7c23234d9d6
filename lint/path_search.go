// Looking for a path that breaks a policy: a search over nodes and what is
// known of the state on the way.

package lint

import (
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
)

// stateSpace is what searches and walks share: states of a search from the start, and
// where each leads. What conditions let happen is found out once for all
// policies.
type stateSpace struct {
	f      *facts
	states []pathState
	number map[string]int
	key    []byte // for the next state
	// cut says that not all was followed: what wasn't found may be there.
	cut bool
	// only, when set, are the state keys that states tell of: what is not known of
	// others leaves more ways open, and makes less states.
	only map[string]bool
}

// maxWalked is how many states of the state space are followed for one graph.
const maxWalked = 5_000

// maxWeighed is how many steps the solver takes for that.
const maxWeighed = 120_000

// pathState is a node and what is known on the way to it.
type pathState struct {
	at       int
	know     *knowledge
	expanded bool
	next     []onward
}

// onward is a way from one state to another: by a group of the node.
type onward struct{ group, to int }

// stateSpace holds the states that were met so far.
func (f *facts) stateSpace() *stateSpace {
	if f.theReached == nil {
		f.theReached = &stateSpace{f: f, number: map[string]int{}}
		f.theReached.state(f.Start(), f.atStart())
	}
	return f.theReached
}

// about is a state space of its own that tells of some keys only, and counts nothing.
func (f *facts) about(keys map[string]bool) *stateSpace {
	g := &stateSpace{f: f, number: map[string]int{}, only: keys}
	g.state(f.Start(), &knowledge{f: f, counts: pathCounts{of: &boundWalk{f: f, flow: f.flow(), limit: f.visitLimits()}}})
	return g
}

func (g *stateSpace) state(at int, k *knowledge) int {
	g.key = k.appendKey(strconv.AppendBool(strconv.AppendInt(g.key[:0], int64(at), 10), k.fanned))
	i, known := g.number[string(g.key)]
	if !known {
		i = len(g.states)
		g.number[string(g.key)] = i
		g.states = append(g.states, pathState{at: at, know: k})
	}
	return i
}

// next are the ways on from a state.
func (g *stateSpace) next(i int) []onward {
	at, know := g.states[i].at, g.states[i].know
	if g.states[i].expanded || at >= len(g.f.graph.Nodes) {
		return g.states[i].next
	}
	if g.f.walked++; g.f.walked > maxWalked || g.f.weighed > maxWeighed {
		g.cut = true
		return nil
	}
	var out []onward
	groups := g.f.flow().Groups[at]
	ran := tries{ran: know.clone(), groups: groups}
	ran.ran.run(at)
	for j := range groups {
		if g.f.isDead(&groups[j]) {
			continue
		}
		after := ran.onward(j)
		g.f.weighed += (2 + len(groups[j].Targets)) * (costOfClaim + len(know.claims) + len(know.values))
		if after.bad {
			continue
		}
		for k, t := range groups[j].Targets {
			there := after
			if k < len(groups[j].Targets)-1 {
				there = after.clone()
			}
			there.settle(t)
			if g.only != nil {
				there.forgetBut(g.only)
			}
			out = append(out, onward{j, g.state(t, there)})
		}
	}
	g.states[i].expanded, g.states[i].next = true, out
	return out
}

// pathSearch is a search from the start for a path that leads through one vertex to
// another.
type pathSearch struct {
	f  *facts
	in *stateSpace // nil for the one that is shared
	// through is the node that the path must have left, -1 for none; to is where
	// it ends, unless stop says so, at that node or behind it.
	through, to int
	// visits, when above 0, asks for the path to have run to so many times before.
	visits int
	// allows, when set, says which ways may be taken, with their groups; those that are
	// proven dead never are.
	allows func(at *searched, g *controlflow.Group, way onward) bool
	stop   func(v int) bool
	// accept, when set, asks of what is known at the end.
	accept func(k *knowledge) bool
	// all says, once the search is over, that every way was followed.
	all bool
}

// weight is that of a state in edges, for maxPondered.
const weight = 10

// How many states a search for a breach, a proof that there is none, and a search for a way
// on which nothing is made may look at; beyond it nothing is said, or the way is taken
// for possible.
const (
	maxSearchStates = 2_000
	maxFollowed     = 4_000
	maxWalks        = 500
)

// searched is a state of a search: one of the state space, and what is asked of the way to
// it.
type searched struct {
	asked
	at   int
	know *knowledge
	from *searched
}

type asked struct {
	state  int
	passed bool
	ran    int // visits of the node that the path is to end at
}

// ponder is search for a policy, which has only so much of it.
func (h *pathSearch) ponder(most int) []int {
	path, looked := h.search(most)
	if path == nil {
		h.f.pondered += weight * looked
	}
	return path
}

// search finds a shortest path; nil when there is none, or none was found among the
// first.
func (h *pathSearch) search(most int) (path []int, looked int) {
	g := h.in
	if g == nil {
		g = h.f.stateSpace()
	}
	todo := []*searched{{asked: asked{passed: h.through < 0}, at: h.f.Start(), know: g.states[0].know}}
	seen := map[asked]bool{}
	for ; len(todo) > 0 && len(seen) <= most; todo = todo[1:] {
		q := todo[0]
		if h.caught(q) {
			return q.path(), len(seen)
		}
		ran := q.ran
		if q.at == h.to && h.visits > 0 {
			ran++
		}
		for _, way := range g.next(q.state) {
			next := asked{way.to, q.passed || q.at == h.through, ran}
			if seen[next] || h.allows != nil && !h.allows(q, &h.f.flow().Groups[q.at][way.group], way) {
				continue
			}
			seen[next] = true
			s := &g.states[way.to]
			todo = append(todo, &searched{asked: next, at: s.at, know: s.know, from: q})
		}
	}
	h.all = len(todo) == 0 && !g.cut
	return nil, len(seen)
}

func (h *pathSearch) caught(q *searched) bool {
	if h.stop != nil {
		return (q.passed || q.at == h.through) && h.stop(q.at)
	}
	return q.passed && q.at == h.to && q.ran >= h.visits && (h.accept == nil || h.accept(q.know))
}

func (q *searched) path() []int {
	var path []int
	for ; q != nil; q = q.from {
		path = append(path, q.at)
	}
	slices.Reverse(path)
	return path
}
