// Joins: nodes where branches meet (GraphSpec §7).

package machine

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// resolveNextJoin runs, fails or drops one join, and reports whether it did.
func (s *State) resolveNextJoin() bool {
	return slices.ContainsFunc(s.Scopes, func(sc *Scope) bool {
		return sc.End == nil && (sc.due || sc.mayFailBypassedJoin() || !sc.hasMovingTask()) && sc.resolveNextJoin()
	})
}

// hasMovingTask reports whether a task does not wait at a join. The last task usually moves.
func (sc *Scope) hasMovingTask() bool {
	for _, t := range slices.Backward(sc.Tasks) {
		if !t.Waits {
			return true
		}
	}
	return false
}

// waitsWithBlocked reports whether a task waits in the same group as a blocked task.
func (sc *Scope) waitsWithBlocked(t *Task) bool {
	return slices.ContainsFunc(sc.blocked, func(w *Task) bool {
		return w.Node == t.Node && (sc.awaitedFan(w, t.Place) != 0 || sc.awaitedFan(t, w.Place) != 0)
	})
}

func (sc *Scope) mayFailBypassedJoin() bool { return sc.plan.failsBypassed && len(sc.Detours) > 0 }

func (sc *Scope) resolveNextJoin() bool {
	sc.due, sc.blocked = false, nil
	waits := slices.DeleteFunc(slices.Clone(sc.Tasks), func(t *Task) bool { return !t.Waits })
	slices.SortStableFunc(waits, func(a, b *Task) int { return a.Node - b.Node })
	var groups [][]*Task
	for len(waits) > 0 {
		var group []*Task
		group, waits = sc.splitGroup(waits)
		if q := sc.plan.nodes[group[0].Node].quorum; q > 0 && len(group) >= q {
			sc.joinTasks(group, nil)
			return true
		}
		groups = append(groups, group)
	}
	for _, group := range groups {
		if len(group) < len(sc.Tasks) {
			if i := slices.IndexFunc(group, sc.isBlocked); i >= 0 {
				sc.blocked = append(sc.blocked, group[i])
				continue
			}
		}
		sc.resolveJoin(group)
		return true
	}
	if len(groups) > 0 && !sc.hasMovingTask() {
		sc.resolveJoin(groups[0]) // all groups wait for each other: run the first in the file
		return true
	}
	return sc.failBypassedJoin()
}

// isBlocked reports whether another task may still arrive at the join where w waits.
func (sc *Scope) isBlocked(w *Task) bool {
	for _, o := range slices.Backward(sc.Tasks) { // the last task usually runs last
		if (!o.Waits || o.Node != w.Node) && sc.canReachJoin(o, w) {
			o.blocks = true
			return true
		}
	}
	return false
}

// canReachJoin reports whether o can still reach the join where w waits for it.
func (sc *Scope) canReachJoin(o, w *Task) bool {
	f := sc.awaitedFan(w, o.Place)
	return f != 0 && sc.canReach(o.Node, w.Node, sc.findFan(f).Source)
}

func (sc *Scope) canReachAnyJoin(o *Task, group []*Task) bool {
	return slices.ContainsFunc(group, func(w *Task) bool { return sc.canReachJoin(o, w) })
}

// implicitFan returns the outermost fan-out that the task's node joins implicitly, or 0.
func (sc *Scope) implicitFan(t *Task) int {
	for _, lane := range t.Place {
		if sc.findFan(lane.Fan).Implicit == t.Node && !slices.Contains(t.Joined, lane.Fan) {
			return lane.Fan
		}
	}
	return 0
}

// awaitedFan returns the fan-out that w shares with a branch for which it waits, or 0. An implicit join
// waits only for branches of its fan-out.
func (sc *Scope) awaitedFan(w *Task, other []Lane) int {
	f := innermostSharedFan(w.Place, other)
	if f == 0 || sc.plan.nodes[w.Node].joins {
		return f
	}
	outer := sc.implicitFan(w)
	for _, lane := range w.Place {
		if lane.Fan == outer && outer != 0 {
			return f
		}
		if lane.Fan == f {
			break
		}
	}
	return 0
}

// splitGroup returns the tasks that wait with the first one, in declaration order, and the rest.
func (sc *Scope) splitGroup(waits []*Task) (group, rest []*Task) {
	group, rest = waits[:1:1], waits[1:]
	for i := 0; i < len(group); i++ {
		var left []*Task
		for _, t := range rest {
			if t.Node == group[i].Node && (sc.awaitedFan(group[i], t.Place) != 0 || sc.awaitedFan(t, group[i].Place) != 0) {
				group = append(group, t)
			} else {
				left = append(left, t)
			}
		}
		rest = left
	}
	slices.SortStableFunc(group, func(a, b *Task) int { return slices.Compare(a.Order, b.Order) })
	return group, rest
}

// resolveJoin runs a join at which no further task can arrive, or applies on_bypass.
func (sc *Scope) resolveJoin(group []*Task) {
	n := &sc.plan.nodes[group[0].Node]
	if n.quorum == 0 && len(sc.findBypasses(group)) == 0 || n.quorum > 0 && len(group) >= n.quorum {
		sc.joinTasks(group, nil)
		return
	}
	sc.Degraded = true
	failure := sc.bypassFailure(group[0].Node, group, sc.findBypasses(group))
	switch n.onBypass {
	case "continue":
		sc.joinTasks(group, nil)
	case "fail":
		sc.joinTasks(group, failure)
	default:
		group[0].addNote(&Note{Kind: NoteJoinDropped, Failure: failure})
		sc.dropTasks(group...)
		for _, t := range group {
			t.Waits = false
		}
		sc.Ended = append(sc.Ended, group...)
	}
}

// bypassFailure returns the failure of a join that some branches bypass.
func (sc *Scope) bypassFailure(node int, group []*Task, detours []*Detour) *Failure {
	names := func(nodes []int) (out []any, words []string) {
		out = []any{}
		slices.Sort(nodes)
		for _, node := range slices.Compact(nodes) {
			out, words = append(out, sc.plan.nodes[node].id), append(words, strconv.Quote(sc.plan.nodes[node].id))
		}
		return out, words
	}
	var failed, arrived []int
	for _, b := range detours {
		failed = append(failed, b.Node)
	}
	for _, t := range group {
		if t.From.Task != 0 {
			arrived = append(arrived, t.From.Node)
		}
	}
	from, words := names(failed)
	came, _ := names(arrived)
	return &Failure{
		Kind: "bypassed", Node: sc.plan.nodes[node].id,
		Message: "a branch left by a failure edge of " + strings.Join(words, " and ") + " and can't reach this join any more",
		Details: map[string]any{"failed": from, "arrived": came},
	}
}

// findBypasses returns the failure edges that branches took around the join.
func (sc *Scope) findBypasses(group []*Task) (out []*Detour) {
nextDetour:
	for _, b := range sc.Detours {
		if slices.ContainsFunc(group, func(w *Task) bool { return sc.hasInPast(w, b.Task) }) {
			continue
		}
		for _, w := range group {
			f := sc.awaitedFan(w, b.Place)
			if f == 0 || slices.Contains(w.Joined, f) || slices.Contains(b.Joined, f) || !sc.canReach(b.Node, w.Node, sc.findFan(f).Source) {
				continue
			}
			own := findLane(b.Place, f)
			if !slices.ContainsFunc(group, func(o *Task) bool { return findLane(o.Place, f) == own }) {
				out = append(out, b)
				continue nextDetour
			}
		}
	}
	return out
}

// hasInPast reports whether a task's past since the split contains the step of another task.
func (sc *Scope) hasInPast(t *Task, step int) bool {
	for v := t.view(); v.Base != 0; v = v.base {
		if slices.ContainsFunc(v.Done, func(d *FinishedStep) bool { return d.Task == step }) {
			return true
		}
	}
	return false
}

// joinTasks merges the arrived tasks, and the failed or cancelled ones, into one task.
func (sc *Scope) joinTasks(group []*Task, preset *Failure) {
	n := &sc.plan.nodes[group[0].Node]
	if n.quorum > 0 {
		for _, o := range slices.Clone(sc.Tasks) {
			if !slices.Contains(group, o) && sc.canReachAnyJoin(o, group) {
				sc.cancelBranch(o, "join "+n.id+" has enough branches")
			}
		}
	}
	var lost []*Task
	for _, g := range sc.Gone {
		if sc.canReachAnyJoin(g, group) || g.Waits && g.Node == group[0].Node && slices.ContainsFunc(group, func(w *Task) bool { return sc.awaitedFan(w, g.Place) != 0 }) {
			lost = append(lost, g)
		}
	}
	for _, t := range group {
		if t.Carries != 0 {
			lost = append(lost, sc.failedBranches(sc.findFan(t.Carries), t.Node)...)
		}
	}
	slices.SortStableFunc(lost, func(a, b *Task) int { return slices.Compare(a.Order, b.Order) })
	first := group[0]
	place, over := sc.lanesAfterJoin(group)
	t := &Task{
		Node: first.Node, Position: &Position{Order: first.Order, Place: place, Over: over, Joined: slices.Clone(first.Joined)},
		From: first.From, Input: first.Input, Cause: first.Cause, Preset: preset,
	}
	sources := map[int]int{}
	for _, m := range group {
		for _, lane := range m.Place {
			if _, seen := sources[lane.Fan]; seen {
				continue
			}
			f := sc.findFan(lane.Fan)
			sources[f.ID] = f.Source
			if !slices.Contains(t.Joined, f.ID) && (sc.isJoinOf(f, first.Node) || sc.spansBranches(group, f.ID)) {
				t.Joined = append(t.Joined, f.ID)
			}
		}
		sc.markDecided(m.Place, first.Node)
	}
	for _, m := range slices.Concat(group, lost) {
		t.Rank = max(t.Rank, m.pastRank()+1)
	}
	sc.setInputs(t, group, lost)
	view, conflicts := sc.mergeTasks(group, lost)
	merged := view.changedKeys()
	sc.dropTasks(group...)
	if len(conflicts) == 0 { // an edge may need the values at the split
		var over *Fan
		if view, over = sc.foldView(view); over != nil && sc.isLast(t, over.Order) {
			t.Order = over.Order // otherwise the order would grow with each round of a loop
		}
	}
	t.View = view.ID
	sc.moveFinishedFans(t, sources)
	for _, m := range group {
		for _, lane := range m.Lanes {
			if sc.findFan(lane.Fan) != nil {
				t.Lanes = append(t.Lanes, lane)
			}
		}
	}
	slices.SortFunc(t.Lanes, func(a, b Lane) int { return cmp.Or(a.Fan-b.Fan, a.Lane-b.Lane) })
	t.Lanes = slices.Compact(t.Lanes)
	t.Joined = slices.DeleteFunc(t.Joined, func(f int) bool { return sc.findFan(f) == nil })
	sc.addTask(t)
	sc.sweepViews()
	if len(group) > 1 {
		var from []string
		for _, m := range group {
			if m.From.Task != 0 {
				from = append(from, sc.plan.nodes[m.From.Node].id)
			}
		}
		t.addNote(&Note{Kind: NoteBranchesJoined, Targets: from})
		sc.state.noteStateUpdate(t, merged)
	}
	if t.Settled = conflicts; len(conflicts) > 0 && preset == nil {
		t.Preset = sc.conflictFailure(first.Node, conflicts[0])
	}
	sc.state.makeReady(ready{t, nil})
	if failure := sc.checkStateSize(view, nil); failure != nil {
		sc.endAtSizeLimit(nil, failure)
	}
}

// isLast reports whether a task is last in path order among all branches below an order.
func (sc *Scope) isLast(t *Task, order []int) bool {
	if t.Rank <= sc.MaxRank {
		return false
	}
	for _, list := range [...][]*Task{sc.Tasks, sc.Ended, sc.Gone} {
		for _, o := range list {
			if len(o.Order) >= len(order) && slices.Equal(o.Order[:len(order)], order) {
				return false
			}
		}
	}
	return true
}

// pastRank returns the highest rank in the past of a task.
func (t *Task) pastRank() int {
	if t.Done {
		return t.Rank
	}
	return t.Rank - 1
}

// spansBranches reports whether the group is on several branches of a fan-out.
func (sc *Scope) spansBranches(group []*Task, fan int) bool {
	own := findLane(group[0].Place, fan)
	return slices.ContainsFunc(group, func(m *Task) bool { return findLane(m.Place, fan) != own })
}

// isJoinOf reports whether a node is the implicit join of a fan-out, or has a `join` that
// at least two branches can reach.
func (sc *Scope) isJoinOf(f *Fan, node int) bool {
	if !sc.plan.nodes[node].joins {
		return f.Implicit == node
	}
	count := 0
	for _, b := range f.Branch {
		if b.First == node || b.First >= 0 && sc.canReach(b.First, node, f.Source) {
			if count++; count == 2 {
				return true
			}
		}
	}
	return false
}

// moveFinishedFans moves finished fan-outs from the task's Place to its Over list.
func (sc *Scope) moveFinishedFans(t *Task, sources map[int]int) {
	if !slices.ContainsFunc(t.Place, func(l Lane) bool { return sc.findFan(l.Fan) == nil }) {
		return
	}
	var place []Lane
	var over []Over
	for k := range len(t.Place) + 1 {
		for _, o := range t.Over {
			if o.At == k {
				over = append(over, Over{len(place), o.Source})
			}
		}
		if k == len(t.Place) {
			break
		}
		if lane := t.Place[k]; sc.findFan(lane.Fan) != nil {
			place = append(place, lane)
		} else {
			over = append(over, Over{len(place), sources[lane.Fan]})
		}
	}
	t.Place, t.Over = place, over
}

// lanesAfterJoin returns the lanes after a join: outside of the fan-out if all branches met, otherwise
// those of the first branch that arrived.
func (sc *Scope) lanesAfterJoin(group []*Task) ([]Lane, []Over) {
	place, over := group[0].Place, group[0].Over
	if len(group) == 1 {
		return place, over
	}
	k := 0
	same := func() bool {
		return k < len(place) && !slices.ContainsFunc(group, func(g *Task) bool { return len(g.Place) <= k || g.Place[k] != place[k] })
	}
	for same() {
		k++
	}
	if k >= len(place) {
		return place, over
	}
	var lanes []int
	for _, g := range group {
		if len(g.Place) > k {
			lanes = append(lanes, g.Place[k].Lane)
		}
	}
	slices.Sort(lanes)
	if len(slices.Compact(lanes)) == len(sc.findFan(place[k].Fan).Branch) {
		return place[:k:k], cutOver(over, k)
	}
	return place[: k+1 : k+1], cutOver(over, k)
}

// setInputs sets the input and the branch results of a joined task by source node.
func (sc *Scope) setInputs(t *Task, group, lost []*Task) {
	came := slices.DeleteFunc(slices.Clone(group), func(m *Task) bool { return m.From.Task == 0 })
	slices.SortStableFunc(came, func(a, b *Task) int {
		return comparePositions(a.From.Rank, a.From.Order, b.From.Rank, b.From.Order)
	})
	t.Inputs = make(map[string]any, len(came))
	var lists map[string]bool
	for _, m := range came {
		id := sc.plan.nodes[m.From.Node].id
		first, again := t.Inputs[id]
		switch {
		case !again:
			t.Inputs[id] = m.Input
		case lists[id]:
			t.Inputs[id] = append(first.([]any), m.Input)
		default:
			t.Inputs[id] = []any{first, m.Input}
			lists = setEntry(lists, id, true)
		}
	}
	if len(came) > 1 {
		t.Input, t.Cause = t.Inputs, nil
	}
	if !sc.plan.wanted["branches"] {
		return
	}
	t.Branches = map[string]any{}
	for _, m := range came {
		if !m.From.Failed && (len(group) > 1 || sc.plan.nodes[t.Node].joins) {
			t.Branches[sc.plan.nodes[m.From.Node].id] = map[string]any{"output": m.From.Output}
		}
	}
	for _, l := range slices.Concat(lost, sc.failuresForWaitAll(group, lost)) {
		if l.Lost == nil {
			continue
		}
		if _, ok := t.Branches[l.Lost.Node]; !ok {
			t.Branches[l.Lost.Node] = map[string]any{"error": failureData(l.Lost)}
		}
	}
}

// failuresForWaitAll returns the failed tasks that could not reach the join, but that wait_all reports
// to it.
func (sc *Scope) failuresForWaitAll(group, lost []*Task) []*Task {
	return slices.DeleteFunc(slices.Clone(sc.Gone), func(g *Task) bool {
		return g.Lost == nil || slices.Contains(lost, g) || !slices.ContainsFunc(group, func(w *Task) bool {
			f := sc.awaitedFan(w, g.Place)
			if f == 0 || sc.plan.nodes[sc.findFan(f).Source].parallel.OnFailure != "wait_all" {
				return false
			}
			first := sc.findFan(f).Branch[findLane(g.Place, f)].First
			return first == w.Node || first >= 0 && sc.canReach(first, w.Node, sc.findFan(f).Source)
		})
	})
}

func (sc *Scope) markDecided(place []Lane, node int) {
	if !sc.plan.failsBypassed {
		return
	}
	for _, lane := range place {
		if f := sc.findFan(lane.Fan); !slices.Contains(f.Decided, node) {
			f.Decided = append(f.Decided, node)
		}
	}
}

// failBypassedJoin fails a join with `on_bypass: fail` that every branch bypassed.
func (sc *Scope) failBypassedJoin() bool {
	if !sc.mayFailBypassedJoin() {
		return false
	}
	detours := slices.Clone(sc.Detours)
	slices.SortFunc(detours, func(a, b *Detour) int { return comparePositions(a.Rank, a.Order, b.Rank, b.Order) })
	for node := range sc.plan.nodes {
		if !sc.plan.nodes[node].joins || sc.plan.nodes[node].onBypass != "fail" {
			continue
		}
		for _, b := range detours {
			f := sc.findBypassedFan(b, node)
			if f == nil {
				continue
			}
			sc.Degraded = true
			sc.markDecided(b.Place, node)
			t := sc.newTaskAtSplit(f, node)
			t.Order = append(slices.Clone(b.Order), -1)
			t.Lanes = append(slices.Clone(b.Lanes), Lane{f.ID, -1})
			t.Preset = sc.bypassFailure(node, nil, []*Detour{b})
			sc.addTask(t)
			sc.state.makeReady(ready{t, nil})
			return true
		}
	}
	return false
}

// newTaskAtSplit returns a task at a node, with the past of the fan-out's split.
func (sc *Scope) newTaskAtSplit(f *Fan, node int) *Task {
	v := sc.newView(sc.findView(f.View))
	at := *f.Position
	at.Lanes = append(slices.Clip(at.Lanes), Lane{f.ID, -1}) // on no branch of the fan-out
	return &Task{
		Node: node, View: v.ID, Rank: f.Rank + 1, Position: &at, Inputs: map[string]any{}, Branches: map[string]any{},
	}
}

// findBypassedFan returns the outermost fan-out around a detour whose branches can no longer reach the
// join, or nil.
func (sc *Scope) findBypassedFan(b *Detour, node int) *Fan {
	if slices.Contains(b.Reached, node) || slices.ContainsFunc(b.Place, func(l Lane) bool { return slices.Contains(sc.findFan(l.Fan).Decided, node) }) ||
		slices.ContainsFunc(sc.Tasks, func(o *Task) bool { return sc.canReachAfterDetour(o, b, node) }) {
		return nil
	}
	for _, lane := range b.Place {
		f := sc.findFan(lane.Fan)
		stops := func(at int) bool { return at == f.Source || at == f.Implicit || sc.plan.nodes[at].joins }
		if !slices.Contains(b.Joined, f.ID) && sc.isJoinOf(f, node) && node != f.Source && sc.plan.nodesLeadingTo(node, stops)[b.Node] {
			return f
		}
	}
	return nil
}

// canReachAfterDetour reports whether a task may still reach the join that a detour bypassed.
func (sc *Scope) canReachAfterDetour(o *Task, b *Detour, node int) bool {
	for _, lane := range b.Place {
		if (sc.hasInPast(o, b.Task) || findLane(o.Place, lane.Fan) >= 0) && (o.Node == node || sc.canReach(o.Node, node, sc.findFan(lane.Fan).Source)) {
			return true
		}
	}
	return false
}
