// Whether a cycle can go round for ever, given what its nodes write and its
// conditions ask.

package lint

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/graphalg"
)

// roundTrip follows the free arcs of one component from every node of it, with
// nothing known at first. A path that comes back to a node knowing the same has
// found a cycle that nothing ends; knowledge only takes finitely many values.
type roundTrip struct {
	f    *facts
	free *graphalg.Digraph
	of   []int
	// state by what is known at a vertex: its place on the path, done behind it.
	state map[string]int
	path  []int
	// left bounds the search; beyond it a cycle is taken for endless.
	left int
}

// done marks what the path has left again.
const done = -1

// endless is a cycle of a component of free arcs, as vertices from v back to v;
// nil when its conditions end every one.
func (f *facts) endless(free *graphalg.Digraph, of, members []int) []int {
	r := &roundTrip{f: f, free: free, of: of, state: map[string]int{}, left: maxSearchStates}
	for _, v := range members {
		if cycle := r.from(v, f.unaware()); cycle != nil {
			if r.left < 0 {
				return cycleThrough(free, members[0])
			}
			return cycle
		}
	}
	return nil
}

// unaware is what is known in the middle of a run: nothing, not even how often
// nodes have run.
func (f *facts) unaware() *knowledge {
	return &knowledge{f: f, fanned: f.flow().FansOut, counts: pathCounts{of: &boundWalk{f: f, flow: f.flow(), limit: make([]int, len(f.graph.Nodes))}}}
}

func (r *roundTrip) from(v int, k *knowledge) []int {
	key := fmt.Sprint(v, " ", string(k.appendKey(nil)))
	if at, seen := r.state[key]; seen {
		if at == done {
			return nil
		}
		return append(r.path[at:len(r.path):len(r.path)], v)
	}
	if r.left--; r.left < 0 {
		return []int{v}
	}
	r.state[key] = len(r.path)
	r.path = append(r.path, v)
	defer func() {
		r.state[key] = done
		r.path = r.path[:len(r.path)-1]
	}()
	groups := r.f.flow().Groups[v]
	for i := range groups {
		for _, t := range groups[i].Targets {
			if t >= len(r.f.graph.Nodes) || r.of[t] != r.of[v] || !slices.Contains(r.free.Next(v), t) {
				continue
			}
			there := k.clone()
			there.at = v
			skips := r.f.graph.Nodes[v].OnMaxVisits == "skip" && groups[i].Kind == controlflow.ByDefault
			if !skips { // who is skipped has no conditions, and writes nothing
				if there = there.onward(groups, i); there.bad {
					break
				}
			}
			there.settle(t)
			there.counts.step = 0
			if cycle := r.from(t, there); cycle != nil {
				return cycle
			}
		}
	}
	return nil
}
