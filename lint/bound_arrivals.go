// How often nodes can run by the shape of the graph alone: what bounds a run whose ways
// are too many to be followed.

package lint

import "math"

// arrivals is how often each node can run at most. A node on no cycle runs once for each
// time that one before it leads to it; a join of all once, since when it goes on nothing is
// left that could come to it, unless it lies behind a fan-out on a cycle: it waits apart for
// the branches of each time. One on a cycle is bounded by its own limit of visits.
func (w *boundWalk) arrivals() []float64 {
	n := len(w.f.graph.Nodes)
	runs, known := make([]float64, n), make([]bool, n)
	into := make([][]int, n) // who leads to it, once for each edge
	for v, groups := range w.flow.Groups {
		for i := range groups {
			for _, to := range groups[i].Targets {
				if to < n && w.flow.Reached[v] && !w.f.isDead(&groups[i]) {
					into[to] = append(into[to], v)
				}
			}
		}
	}
	var visit func(v int) float64
	visit = func(v int) float64 {
		if known[v] {
			return runs[v]
		}
		known[v] = true
		node := w.f.graph.Nodes[v]
		switch {
		case !w.flow.Reached[v]:
		case w.flow.Cyclic[v] && w.limit[v] > 0 && node.OnMaxVisits != "skip":
			runs[v] = float64(w.limit[v])
		case w.flow.Cyclic[v]:
			runs[v] = math.Inf(1)
		case node.Join != nil && node.Join.Wait == "all" && !w.refanned(v):
			runs[v] = 1
		default:
			if v == w.f.Start() {
				runs[v] = 1
			}
			for _, u := range into[v] {
				runs[v] += visit(u)
			}
		}
		return runs[v]
	}
	for v := range n {
		visit(v)
	}
	return runs
}

// refanned reports whether a fan-out from which branches come to a join may be gone round
// to again.
func (w *boundWalk) refanned(join int) bool {
	for v, groups := range w.flow.Groups {
		for i := range groups {
			if w.reaches[join][v] && w.flow.Cyclic[v] && len(groups[i].Targets) > 1 {
				return true
			}
		}
	}
	return false
}

// capped puts bounds by the shape of the graph in the place of wider ones.
func (w *boundWalk) capped(out *Bounds) {
	if w.flow.Anywhere {
		return
	}
	var total cost
	for v, runs := range w.arrivals() {
		if runs == 0 {
			continue
		}
		total = total.plus(w.dearestVisit(v).times(runs))
	}
	for metric, r := range out.by() {
		if total[metric] < r.Max {
			r.Max, r.MaxPath, r.Limit = total[metric], nil, ""
		}
	}
}
