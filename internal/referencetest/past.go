// Steps, their past, and the state that results from a past (§5, §7 Merging).

package referencetest

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/eval"
)

// past is a set of finished steps.
type past map[*step]bool

// unionPasts returns a set of all steps of the given pasts.
func unionPasts(pasts ...past) past {
	out := past{}
	for _, p := range pasts {
		maps.Copy(out, p)
	}
	return out
}

// frame is a branch of a fan-out. A place is a list of frames, outermost fan-out first.
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
	// implicit is the implicit join of the branches, or "".
	implicit string
}

// lane is a branch of a fan-out.
type lane struct {
	first      string // its first node
	failed     *Error // why the branch was dropped or the fan-out failed
	failedStep *step  // whose failure that was
}

// thread is how a token or a step was reached: its past, and which steps of the past belong to failed
// and cancelled branches. hoisted holds the rank after which such a step is merged: the rank of the
// step where the outermost merged fan-out began.
type thread struct {
	past    past
	hoisted map[*step]int
	rank    int   // of the next step
	order   []int // declaration order of the branches
	place   []frame
	// joined are the fan-outs that were merged on the way here. A later failure does not count for
	// their branches.
	joined map[*fan]bool
	// lanes are the branches that led here, of every fan-out.
	lanes  map[*fan]map[int]bool
	branch string
}

// findSharedFan returns the innermost fan-out on which the two places are on different branches, or nil.
func findSharedFan(a, b []frame) *fan {
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

// write is a key and the update for its reducer.
type write struct {
	key    string
	update any
	// absent removes the key. It is set when a conflict was settled and the key had no value before
	// (§7).
	absent bool
}

// mergeOrder lists a past in merge order. That is path order, except that the steps of failed and
// cancelled branches come before all steps after the split.
func (t *thread) mergeOrder() []*step {
	out := slices.Collect(maps.Keys(t.past))
	slices.SortFunc(out, func(a, b *step) int {
		rankA, lateA := t.mergePosition(a)
		rankB, lateB := t.mergePosition(b)
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

// mergePosition returns the rank by which a step is merged, and late = 1 if it comes after the steps of
// that rank.
func (t *thread) mergePosition(s *step) (rank, late int) {
	if base, ok := t.hoisted[s]; ok {
		return base, 1
	}
	return s.rank, 0
}

// comparePath compares steps by path order: by rank, then by declaration of the branches.
func comparePath(a, b *step) int {
	if a.rank != b.rank {
		return a.rank - b.rank
	}
	return slices.Compare(a.order, b.order)
}

// conflict is a key that two branches wrote under parallel.conflict: error.
type conflict struct {
	key string
	fan *fan // where the two branches began
}

// computeState computes the state from the writes of a past. It also returns the conflicts that no
// policy decided, by key; for those the state holds the last write.
func (s *scope) computeState(t *thread) (state map[string]any, conflicts []conflict) {
	state = maps.Clone(s.base)
	writers := map[string][]*step{} // of keys with `replace`, in merge order
	for _, st := range t.mergeOrder() {
		for _, w := range st.writes {
			if s.replaces(w.key) {
				writers[w.key] = append(writers[w.key], st)
			} else {
				applyWrite(s, state, w)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(writers)) {
		winner, found := s.findWinner(key, writers[key])
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

// findWinner returns the step whose write to a key counts. A write in the past of another write does
// not count. Between two other writes, parallel.conflict of the node where their branches began
// decides, for the innermost fan-outs first.
func (s *scope) findWinner(key string, writers []*step) (*step, []conflict) {
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
				if f := findSeparatingFan(x, y); at == nil || comparePath(at.source, f.source) < 0 {
					a, b, at = x, y, f
				}
			}
		}
		loser := a
		switch conflictPolicy(s.graph, at.source.node) {
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

// findSeparatingFan returns the innermost fan-out that has two steps on different branches. Neither
// step may be in the past of the other.
func findSeparatingFan(a, b *step) *fan {
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

// replaces reports whether the reducer of a key is replace.
func (s *scope) replaces(key string) bool {
	k := s.graph.Key(key)
	return k == nil || !k.Reducer.IsSet() || k.Reducer.Value == "replace"
}

// applyWrite applies a write. Its step checked the write alone; if the value that results from merged
// branches violates the schema of the key, applyWrite drops the write.
func applyWrite(s *scope, state map[string]any, w write) {
	if v, err := s.reduce(state[w.key], w); err == nil {
		state[w.key] = v
	}
}

// view returns what the expressions of a step see (§8). The step itself is not in its past.
func (s *scope) view(st *step) View {
	state, _ := s.computeState(&st.thread)
	visits, history, nodes := map[string]any{}, map[string]any{}, map[string]any{}
	for _, n := range s.graph.Nodes {
		id := n.ID.Value
		visits[id], history[id] = 0, []any{}
		nodes[id] = map[string]any{"output": nil, "visits": 0, "outcome": nil, "error": nil}
	}
	executions := 0
	for _, p := range st.mergeOrder() {
		if !p.refused {
			executions++
		}
		s.recordStep(p, visits, history, nodes)
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
		env["error"] = st.cause.toData()
	}
	env["run"] = map[string]any{"input": s.input, "status": s.endStatus, "reason": s.endReason}
	return View{State: state, Env: env}
}

// recordStep adds a finished step to the visits, history and outputs of its node.
func (s *scope) recordStep(p *step, visits, history, nodes map[string]any) {
	id := p.node.ID.Value
	if p.refused {
		nodes[id].(map[string]any)["outcome"], nodes[id].(map[string]any)["error"] = "failure", p.failure.toData()
		return
	}
	if !p.skipped {
		visits[id] = visits[id].(int) + 1
	}
	known := map[string]any{"output": p.output, "visits": visits[id], "outcome": "success", "error": nil}
	if p.failure != nil {
		known["outcome"], known["error"] = "failure", p.failure.toData()
	} else if !p.skipped {
		history[id] = append(slices.Clone(history[id].([]any)), p.output)
	}
	nodes[id] = known
}

// routingEnv returns what edge expressions see, including the visit that just finished (§8).
func (s *scope) routingEnv(st *step) map[string]any {
	t := st.thread
	t.past = unionPasts(st.past, past{st: true})
	state, _ := s.computeState(&t)
	env := maps.Clone(st.view.Env)
	for k := range st.view.State {
		delete(env, k)
	}
	maps.Copy(env, state)
	visits, history, nodes := maps.Clone(env["visits"].(map[string]any)), maps.Clone(env["history"].(map[string]any)), maps.Clone(env["nodes"].(map[string]any))
	id := st.node.ID.Value
	if !st.skipped && !st.refused {
		visits[id] = visits[id].(int) - 1 // the view already counts it
	}
	s.recordStep(st, visits, history, nodes)
	env["state"], env["visits"], env["history"], env["nodes"] = state, visits, history, nodes
	env["output"], env["outcome"] = st.output, "success"
	delete(env, "error")
	if st.failure != nil {
		env["outcome"], env["error"] = "failure", st.failure.toData()
	}
	return env
}

func (e *Error) toData() map[string]any {
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
