// Conflicts: branches that write one key in one superstep (GraphSpec §3).

package machine

import "strconv"

// conflictOf says which of two tasks' writes stands: what the node says where their
// branches began, else the graph.
func (p *Plan) conflictOf(a, b *task) string {
	if f := common(a.at, b.at).fan; f != nil {
		if own := p.Graph.Nodes[f.origin].Parallel; own != nil && own.Conflict != "" {
			return own.Conflict
		}
	}
	return p.Graph.Parallel.Conflict
}

// settleConflicts decides which of several writes to one `replace` key stands. Of
// each key the writes are compared in declaration order.
func (p *Plan) settleConflicts(s *State) *Failure {
	winner := map[int]int{} // key → task
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.status != succeeded {
			continue
		}
		for j := range t.writes {
			at := t.writes[j].key
			if p.keys[at].reducer != reduceReplace {
				continue
			}
			other, taken := winner[at]
			if !taken || other == i {
				winner[at] = i
				continue
			}
			if failure := p.forbiddenConflict(s, i, at); failure != nil {
				return failure
			}
			if (t.order > s.tasks[other].order) == (p.conflictOf(&s.tasks[other], t) != "first_wins") {
				winner[at] = i
			}
		}
	}
	for i := range s.tasks {
		for j := range s.tasks[i].writes {
			w := &s.tasks[i].writes[j]
			if p.keys[w.key].reducer == reduceReplace {
				w.lost = winner[w.key] != i
			}
		}
	}
	return nil
}

// forbiddenConflict is how a task's write to a key fails the run, for a task
// before it wrote the key as well and the two may not.
func (p *Plan) forbiddenConflict(s *State, i, key int) *Failure {
	if !p.forbidsConflicts {
		return nil
	}
	t := &s.tasks[i]
	for j := range i {
		other := &s.tasks[j]
		if other.status != succeeded || !other.writesTo(key) || p.conflictOf(other, t) != "error" {
			continue
		}
		return &Failure{
			Kind: "conflict", Node: p.nodes[t.node].id,
			Message: "parallel nodes " + strconv.Quote(p.nodes[other.node].id) + " and " + strconv.Quote(p.nodes[t.node].id) +
				" both write state key " + strconv.Quote(p.keys[key].name) + " (parallel.conflict is error)",
		}
	}
	return nil
}

func (t *task) writesTo(key int) bool {
	for i := range t.writes {
		if t.writes[i].key == key {
			return true
		}
	}
	return false
}
