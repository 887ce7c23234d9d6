// Whether a way lies on a cycle on which something makes no progress.

package lint

import "github.com/graphrun/graphrun/internal/graphalg"

// goesRound reports whether a way lies on a cycle without progress. What is asked of
// one way only, such as the visits of the node that it leads back to, is searched for
// around that way; what is asked of a second one is found out for all.
func (r *ranking) goesRound(a cycleArc, p *progress) bool {
	if p.made(a) {
		return false
	}
	of, known := r.without[p.name]
	if !known {
		r.without[p.name] = nil
		return r.leadsBack(a, p.made)
	}
	if of == nil {
		of = r.among(r.arcsOf[r.of[a.from]], p.made)
		r.without[p.name] = of
	}
	return of[a.from] == of[a.to]
}

// leadsBack reports whether a way's end leads to its beginning by arcs that a function
// does not name. It searches from both in turn, so that it costs no more than twice what
// can be reached from the side with less.
func (r *ranking) leadsBack(a cycleArc, gone func(a cycleArc) bool) bool {
	if r.out == nil {
		n := len(r.f.graph.Nodes)
		r.out, r.in, r.seenBy = make([][]cycleArc, n), make([][]cycleArc, n), make([]int, n)
		for _, arc := range r.arcs {
			if r.of[arc.from] == r.of[arc.to] {
				r.out[arc.from], r.in[arc.to] = append(r.out[arc.from], arc), append(r.in[arc.to], arc)
			}
		}
	}
	type side struct {
		arcs [][]cycleArc
		far  func(a cycleArc) int
		name int // in seenBy
		open []int
	}
	r.searches += 2
	this := &side{r.out, func(a cycleArc) int { return a.to }, r.searches, []int{a.to}}
	other := &side{r.in, func(a cycleArc) int { return a.from }, r.searches + 1, []int{a.from}}
	if a.from == a.to {
		return true
	}
	r.seenBy[a.to], r.seenBy[a.from] = this.name, other.name
	for ; len(this.open) > 0; this, other = other, this {
		v := this.open[0]
		this.open = this.open[1:]
		for _, arc := range this.arcs[v] {
			switch w := this.far(arc); {
			case r.seenBy[w] == this.name || gone(arc):
			case r.seenBy[w] == other.name:
				return true
			default:
				r.seenBy[w], this.open = this.name, append(this.open, w)
			}
		}
	}
	return false
}

// among are the components, by vertex, of some arcs when those are gone that a function
// names. It costs what the arcs do, however large the graph is.
func (r *ranking) among(arcs []cycleArc, gone func(a cycleArc) bool) map[int]int {
	number, vertices := map[int]int{}, []int{}
	place := func(v int) int {
		at, known := number[v]
		if !known {
			at = len(vertices)
			number[v], vertices = at, append(vertices, v)
		}
		return at
	}
	from, to := make([]int, 0, len(arcs)), make([]int, 0, len(arcs))
	for _, a := range arcs {
		if tail, head := place(a.from), place(a.to); !gone(a) {
			from, to = append(from, tail), append(to, head)
		}
	}
	of, _ := graphalg.New(len(vertices), from, to).SCC()
	out := make(map[int]int, len(vertices))
	for at, v := range vertices {
		out[v] = of[at]
	}
	return out
}
