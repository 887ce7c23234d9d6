// Writes: from outputs to state keys, checked, atomic per superstep, and what becomes
// of two branches that write one key (GraphSpec §3).

package machine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// write is one pending change of a state key.
type write struct {
	key    int
	update any
	size   int // of update, as eval.Size counts it
	// lost says that another task's write to the same key stands.
	lost bool
}

// collectWrites turns an output into writes, as the node's `writes` says.
func (p *Plan) collectWrites(s *State, t *task, n *node) (failure *Failure) {
	t.writes = t.writes[:0]
	if len(n.writes) > 0 {
		s.setContext(n.uses, t)
		for i := range n.writes {
			a := &n.writes[i]
			value, err := a.value.Eval(&s.vm, s.env)
			if err != nil {
				return &Failure{Kind: "expression", Message: "writes." + p.keys[a.key].name + ": " + err.Error()}
			}
			if t.writes, failure = p.addWrite(s, t.writes, a.key, value); failure != nil {
				return failure
			}
		}
		return nil
	}
	output := Plain(t.output)
	object, isObject := output.(map[string]any)
	for _, i := range n.writeKeys {
		value, has := object[p.keys[i].name]
		switch {
		case has:
		case len(n.writeKeys) == 1:
			value = output
		case !isObject:
			return &Failure{
				Kind: "invalid_output",
				Message: "output is " + preview(output, 60) + "; allowed: an object with the keys of writes: " +
					p.keyNames(n.writeKeys),
			}
		default:
			return &Failure{
				Kind:    "invalid_output",
				Message: "output lacks " + strconv.Quote(p.keys[i].name) + ", which the node writes: " + preview(output, 120),
			}
		}
		if t.writes, failure = p.addWrite(s, t.writes, i, value); failure != nil {
			return failure
		}
	}
	return nil
}

// keyNames lists the names of keys, sorted.
func (p *Plan) keyNames(keys []int) string {
	names := make([]string, len(keys))
	for i, at := range keys {
		names[i] = p.keys[at].name
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// addWrite appends one write, checked as far as it can be checked before the other
// writes of the superstep are known.
func (p *Plan) addWrite(s *State, to []write, key int, update any) ([]write, *Failure) {
	k := &p.keys[key]
	size, fits := eval.Size(update, s.limits.MaxStateBytes)
	if !fits {
		return to, s.overLimit("what is written to state key " + strconv.Quote(k.name))
	}
	if k.decl != nil && k.decl.Secret {
		s.confided = append(s.confided, update)
	}
	switch k.reducer {
	case reduceReplace:
		update = k.schema.Normalise(update)
		if err := k.schema.Check(update); err != nil {
			return to, badWrite(k, err)
		}
	case reduceAppend, reducePrepend:
		items := k.schema.Normalise(listOf(update)).([]any)
		if err := k.schema.CheckAppended(items, 0); err != nil {
			return to, badWrite(k, err)
		}
		if _, isList := update.([]any); !isList {
			size += sizeOf(nil) // now in a list
		}
		update = items
	default:
		if _, failure := p.reduce(s, key, s.env[k.name], update); failure != nil {
			return to, failure
		}
	}
	to = append(to, write{}) // filled in its place: a copy costs a step what two conditions do
	w := &to[len(to)-1]
	w.key, w.update, w.size = key, update, size
	return to, nil
}

// preview is what a key would hold after a write: for the later expressions of
// the same node.
func (p *Plan) preview(s *State, w *write) any {
	k := &p.keys[w.key]
	switch k.reducer {
	case reduceReplace:
		return w.update
	case reduceAppend:
		current, _ := s.env[k.name].([]any)
		return append(append([]any{}, current...), w.update.([]any)...)
	}
	value, failure := p.reduce(s, w.key, s.env[k.name], w.update)
	if failure != nil {
		return s.env[k.name]
	}
	return value
}

func badWrite(k *key, err error) *Failure {
	return &Failure{
		Kind:    "invalid_output",
		Message: "state key " + strconv.Quote(k.name) + " can't hold the value: " + err.Error() + "; its schema is " + k.schema.String(),
	}
}

// applyWrites brings the writes of the superstep's successful tasks into the
// state, in declaration order. A task whose writes do not fit together with
// those before it fails and changes nothing. An ending that is returned is the
// run's: none of the writes counts then.
func (p *Plan) applyWrites(s *State) *ending {
	if len(s.tasks) > 1 {
		if failure := p.settleConflicts(s); failure != nil {
			return &ending{status: Failed, reason: "conflict", failure: failure}
		}
	}
	s.undo = s.undo[:0]
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.status != succeeded || len(t.writes) == 0 {
			continue
		}
		failure, how := p.applyTask(s, t)
		if how != nil {
			s.undoTo(p, 0)
			s.changes = s.changes[:0]
			return how
		}
		if failure != nil {
			failure.Node, failure.Attempt = p.nodes[t.node].id, t.attempt
			t.status, t.failure = failed, failure
			s.noteFailed(t)
		}
	}
	return nil
}

// applyTask applies the writes of one task, all or none.
func (p *Plan) applyTask(s *State, t *task) (failure *Failure, how *ending) {
	mark, changes := len(s.undo), len(s.changes)
	for i := range t.writes {
		w := &t.writes[i]
		if w.lost {
			continue
		}
		k := &p.keys[w.key]
		value := w.update
		grows := k.reducer == reduceAppend || k.reducer == reducePrepend
		if grows { // before there is a list of that length
			if how := p.outgrown(s, t, w.key, s.sizeAfter(w, k.reducer, nil)); how != nil {
				return nil, how
			}
		}
		if k.reducer != reduceReplace {
			reduced, failure := p.reduce(s, w.key, s.env[k.name], w.update)
			if failure != nil {
				s.undoTo(p, mark)
				s.changes = s.changes[:changes]
				return failure, nil
			}
			value = reduced
		}
		size := s.sizeAfter(w, k.reducer, value)
		if !grows {
			if how := p.outgrown(s, t, w.key, size); how != nil {
				return nil, how
			}
		}
		if len(s.tasks) > 1 || len(t.writes) > 1 {
			s.undo = append(s.undo, s.swap(p, w.key, value))
		} else {
			s.env[k.name] = value
		}
		s.resize(w.key, size)
		if s.Watched {
			s.changes = append(s.changes, KeyValue{k.name, value})
		}
	}
	return nil, nil
}

// undoTo takes back the writes from the mark on.
func (s *State) undoTo(p *Plan, mark int) {
	for j := len(s.undo) - 1; j >= mark; j-- {
		s.restore(p, s.undo[j])
		s.resize(s.undo[j].key, s.undo[j].size)
	}
	s.undo = s.undo[:mark]
}

// undone is a state key's earlier value.
type undone struct {
	key   int
	value any
	had   bool
	size  int
}

// swap sets a key and returns how to take that back.
func (s *State) swap(p *Plan, i int, value any) undone {
	name := p.keys[i].name
	old, had := s.env[name]
	s.env[name] = value
	return undone{i, old, had, s.sizes[i]}
}

func (s *State) restore(p *Plan, u undone) {
	if u.had {
		s.env[p.keys[u.key].name] = u.value
	} else {
		delete(s.env, p.keys[u.key].name)
	}
}

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
