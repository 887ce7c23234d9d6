// Steps, their past, and the state that a past comes to (§5, §7 Merging).

package referencetest

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/eval"
)

// past is a set of finished steps.
type past map[*step]bool

// union is every step of both.
func union(pasts ...past) past {
	out := past{}
	for _, p := range pasts {
		maps.Copy(out, p)
	}
	return out
}

// frame says on which branch of a fan-out something stands.
type frame struct {
	fan  *fan
	lane int
}

// fan is one fan-out: several edges of one node that fired at once.
type fan struct {
	source *step // the step that fired them
	before past  // the past that all its branches share: that of the source, and the source
	place  []frame
	lanes  []*lane
	// implicit is the node that joins the branches without saying so, or "".
	implicit string
}

// lane is a branch of a fan-out.
type lane struct {
	first  string // its first node
	failed *Error // it was dropped, or the whole fan-out failed
	by     *step  // whose failure that was
}

// thread is what a token and its steps know of what led to them: the past, and which
// steps of it are those of failed and cancelled branches. hoisted says behind which rank
// such a step stands: that of the node where the outermost fan-out began that was merged.
type thread struct {
	past    past
	hoisted map[*step]int
	rank    int   // of the step to come
	order   []int // declaration order of the branches
	place   []frame
	// joined are the fan-outs that were merged on the way here: what fails from here on
	// is no failure of a branch of theirs.
	joined map[*fan]bool
	// lanes are the branches that led here, of every fan-out.
	lanes  map[*fan]map[int]bool
	branch string
}

// shared is the innermost fan-out that began both, where they stand on different
// branches; nil when there is none.
func shared(a, b []frame) *fan {
	for i := range min(len(a), len(b)) {
		if a[i].fan != b[i].fan {
			return nil
		}
		if a[i].lane != b[i].lane {
			return a[i].fan
		}
	}
	return nil
}

// write is one key and the update that its reducer is given.
type write struct {
	key    string
	update any
	// absent takes the key away: a decided conflict where there was no value (§7).
	absent bool
}

// inOrder lists a past in merge order: path order, but the steps of failed and cancelled
// branches stand before all that came after the split.
func (t *thread) inOrder() []*step {
	out := slices.Collect(maps.Keys(t.past))
	slices.SortFunc(out, func(a, b *step) int {
		rankA, lateA := t.placeOf(a)
		rankB, lateB := t.placeOf(b)
		switch {
		case rankA != rankB:
			return rankA - rankB
		case lateA != lateB:
			return lateA - lateB
		}
		return comparePath(a, b)
	})
	return out
}

// placeOf is the rank by which a step is merged, and 1 if it stands behind the steps of
// that rank.
func (t *thread) placeOf(s *step) (rank, late int) {
	if base, ok := t.hoisted[s]; ok {
		return base, 1
	}
	return s.rank, 0
}

// comparePath is path order: by rank, then by declaration of the branches.
func comparePath(a, b *step) int {
	if a.rank != b.rank {
		return a.rank - b.rank
	}
	return slices.Compare(a.order, b.order)
}

// conflict is what two branches wrote to one key with parallel.conflict: error.
type conflict struct {
	key string
	fan *fan // where they parted
}

// stateOf folds the writes of a past. conflicts are those that nobody decided, by key;
// the last write counts there.
func (s *scope) stateOf(t *thread) (state map[string]any, conflicts []conflict) {
	state = maps.Clone(s.base)
	writers := map[string][]*step{} // of keys with `replace`, in merge order
	for _, st := range t.inOrder() {
		for _, w := range st.writes {
			if s.replaces(w.key) {
				writers[w.key] = append(writers[w.key], st)
			} else {
				mustReduce(s, state, w)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(writers)) {
		winner, found := s.winner(key, writers[key])
		conflicts = append(conflicts, found...)
		for _, w := range winner.writes {
			if w.key == key && w.absent {
				delete(state, key)
			} else if w.key == key {
				state[key] = w.update
			}
		}
	}
	return state, conflicts
}

// winner is the step whose write to a key counts. A write that is in the past of another
// one does not. Of two others parallel.conflict of the node where their branches parted
// decides, the innermost fan-outs first.
func (s *scope) winner(key string, writers []*step) (*step, []conflict) {
	left := slices.DeleteFunc(slices.Clone(writers), func(a *step) bool {
		return slices.ContainsFunc(writers, func(b *step) bool { return b.past[a] })
	})
	left = slices.Compact(left)
	var found []conflict
	for len(left) > 1 {
		var a, b *step // in merge order
		var at *fan
		for i, x := range left {
			for _, y := range left[i+1:] {
				if f := partedAt(x, y); at == nil || comparePath(at.source, f.source) < 0 {
					a, b, at = x, y, f
				}
			}
		}
		loser := a
		switch conflictOf(s.graph, at.source.node) {
		case "first_wins":
			first := slices.IndexFunc(writers, func(w *step) bool { return !at.before[w] && (w == a || a.past[w]) })
			if first < slices.IndexFunc(writers, func(w *step) bool { return !at.before[w] && (w == b || b.past[w]) }) {
				loser = b
			}
		case "error":
			found = append(found, conflict{key, at})
		}
		left = slices.DeleteFunc(left, func(w *step) bool { return w == loser })
	}
	return left[0], found
}

// partedAt is the innermost fan-out of which two steps that are not in each other's past
// were on different branches.
func partedAt(a, b *step) *fan {
	var out *fan
	for f, lanes := range a.lanes {
		others, both := b.lanes[f]
		if !both || slices.ContainsFunc(slices.Collect(maps.Keys(lanes)), func(l int) bool { return others[l] }) {
			continue
		}
		if out == nil || comparePath(out.source, f.source) < 0 {
			out = f
		}
	}
	return out
}

// replaces reports whether a key has no reducer but replace.
func (s *scope) replaces(key string) bool {
	k := s.graph.Key(key)
	return k == nil || !k.Reducer.IsSet() || k.Reducer.Value == "replace"
}

// mustReduce reduces a write that was checked when its step ended. Merged with others it
// may not fit any more: then it changes nothing.
func mustReduce(s *scope, state map[string]any, w write) {
	if v, err := s.reduce(state[w.key], w); err == nil {
		state[w.key] = v
	}
}

// view is what the expressions of a step see (§8). The step itself is not in its past.
func (s *scope) view(st *step) View {
	state, _ := s.stateOf(&st.thread)
	visits, history, nodes := map[string]any{}, map[string]any{}, map[string]any{}
	for _, n := range s.graph.Nodes {
		id := n.ID.Value
		visits[id], history[id] = 0, []any{}
		nodes[id] = map[string]any{"output": nil, "visits": 0, "outcome": nil, "error": nil}
	}
	executions := 0
	for _, p := range st.inOrder() {
		if !p.refused {
			executions++
		}
		s.remember(p, visits, history, nodes)
	}
	id := st.node.ID.Value
	own := nodes[id].(map[string]any)
	own["output"] = nil // §4: cleared before a revisit
	if !st.skipped && !st.refused {
		visits[id] = visits[id].(int) + 1
		own["visits"] = visits[id]
	}
	env := maps.Clone(state)
	env["state"], env["visits"], env["history"], env["nodes"] = state, visits, history, nodes
	env["input"], env["inputs"], env["branches"] = st.input, st.inputs, st.branches
	env["node"], env["visit"], env["step"] = id, visits[id], executions+1
	env["goal"], env["last"] = s.graph.Goal.Description.Value, map[string]any{"text": nil, "tool_result": nil}
	if st.cause != nil {
		env["error"] = st.cause.data()
	}
	env["run"] = map[string]any{"input": s.input, "status": s.endStatus, "reason": s.endReason}
	return View{State: state, Env: env}
}

// remember adds a finished step to what is known of its node.
func (s *scope) remember(p *step, visits, history, nodes map[string]any) {
	id := p.node.ID.Value
	if p.refused {
		nodes[id].(map[string]any)["outcome"], nodes[id].(map[string]any)["error"] = "failure", p.failure.data()
		return
	}
	if !p.skipped {
		visits[id] = visits[id].(int) + 1
	}
	known := map[string]any{"output": p.output, "visits": visits[id], "outcome": "success", "error": nil}
	if p.failure != nil {
		known["outcome"], known["error"] = "failure", p.failure.data()
	} else if !p.skipped {
		history[id] = append(slices.Clone(history[id].([]any)), p.output)
	}
	nodes[id] = known
}

// after is what expressions see at routing: the visit just finished included (§8).
func (s *scope) after(st *step) map[string]any {
	t := st.thread
	t.past = union(st.past, past{st: true})
	state, _ := s.stateOf(&t)
	env := maps.Clone(st.view.Env)
	for k := range st.view.State {
		delete(env, k)
	}
	maps.Copy(env, state)
	visits, history, nodes := maps.Clone(env["visits"].(map[string]any)), maps.Clone(env["history"].(map[string]any)), maps.Clone(env["nodes"].(map[string]any))
	id := st.node.ID.Value
	if !st.skipped && !st.refused {
		visits[id] = visits[id].(int) - 1 // the view counts it already
	}
	s.remember(st, visits, history, nodes)
	env["state"], env["visits"], env["history"], env["nodes"] = state, visits, history, nodes
	env["output"], env["outcome"] = st.output, "success"
	delete(env, "error")
	if st.failure != nil {
		env["outcome"], env["error"] = "failure", st.failure.data()
	}
	return env
}

func (e *Error) data() map[string]any {
	details := e.Details
	if details == nil {
		details = map[string]any{}
	}
	return map[string]any{"kind": e.Kind, "message": e.Message, "node": e.Node, "attempt": e.Attempt, "details": details}
}

// eval evaluates a program.
func (s *scope) eval(p *eval.Program, env map[string]any) (any, error) {
	var vm eval.VM
	return vm.Eval(p, env)
}
