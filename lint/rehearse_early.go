// Joins of a rehearsed run that have enough branches while a superstep is open
// (GraphSpec §5).

package lint

import "slices"

// winners are the tasks that finish in a superstep: all, or those that are
// enough for a join downstream, which cancels the others.
func (r *rehearsal) winners(s *scene, tasks []standing, settled ...int) [][]standing {
	quick, slow := map[int]int{}, map[int][]int{} // by the join that they lead straight to; the slow finish in any order
	var joins []int
	for i := range tasks {
		join := r.straightTo(&tasks[i])
		if join < 0 || slices.Contains(settled, join) {
			continue
		}
		if joins = append(joins, join); r.immediate(tasks[i].node) {
			quick[join]++
		} else {
			slow[join] = append(slow[join], i)
		}
	}
	slices.Sort(joins)
	missing := func(join int) int { return max(r.f.graph.Nodes[join].Join.Count, 1) - quick[join] - s.arrived(join) }
	for _, join := range joins {
		if missing(join) <= 0 {
			return r.winners(s, r.withoutLate(tasks, join, nil), append(slices.Clip(settled), join)...)
		}
	}
	for _, join := range joins {
		need := missing(join)
		if need > len(slow[join]) {
			continue
		}
		var out [][]standing
		for i, first := range slow[join] {
			others := slices.Delete(slices.Clone(slow[join]), i, i+1)
			kept := append([]int{first}, others[:need-1]...)
			out = append(out, r.winners(s, r.withoutLate(tasks, join, kept), append(slices.Clip(settled), join)...)...)
		}
		return out
	}
	return [][]standing{tasks}
}

// straightTo is the any or N join that a task is certain to lead to; -1 for none.
func (r *rehearsal) straightTo(t *standing) int {
	groups := r.f.flow().groups[t.node]
	if t.refused || len(groups) == 0 || groups[0].kind != byDefault || len(groups[0].edges) != 1 {
		return -1
	}
	v := groups[0].targets[0]
	if v == r.f.end || r.f.graph.Nodes[v].Join == nil || r.f.graph.Nodes[v].Join.Wait == "all" {
		return -1
	}
	return v
}

// withoutLate drops the tasks that run while a join has enough branches.
func (r *rehearsal) withoutLate(tasks []standing, join int, kept []int) []standing {
	var out []standing
	var arrived []spot
	for i := range tasks {
		if r.straightTo(&tasks[i]) == join && (r.immediate(tasks[i].node) || slices.Contains(kept, i)) {
			arrived = append(arrived, tasks[i].at)
		}
	}
	for i, t := range tasks {
		if r.immediate(t.node) || t.refused || slices.Contains(kept, i) || !r.onTheWay(join, arrived, t) {
			out = append(out, t)
		}
	}
	return out
}
