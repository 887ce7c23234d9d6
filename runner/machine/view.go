// Views: the state, visits and results of a past, and merging them (GraphSpec §5, §7).

package machine

import (
	"cmp"
	"maps"
	"slices"
)

// View holds the state, visits and results of a task's past. Tasks outside of fan-outs share the root
// view. A branch has a copy of the view at the split, and keeps its steps, so that a join can replay
// them.
type View struct {
	ID int `json:"id"`
	// Base is the view at the split, or 0. Depth is 0 for the root view.
	Base  int `json:"base,omitempty"`
	Depth int `json:"depth,omitempty"`
	// Vals are the values by key, or absent. In a snapshot, Kept has the changes since the base.
	Vals []any   `json:"-"`
	Kept []Write `json:"kept,omitempty"`
	// Heads are the last writes to replace keys since the outermost split, by key.
	Heads map[int][]int `json:"heads,omitempty"`
	// Visits are the visits since the split, sorted by node.
	Visits []Visits `json:"visits,omitempty"`
	// Count is the number of steps in the past.
	Count int `json:"count,omitempty"`
	// Mem holds the results of watched nodes since the split.
	Mem map[int]*Memory `json:"mem,omitempty"`
	// Done are the steps since the split.
	Done   []*FinishedStep `json:"done,omitempty"`
	Thread *thread         `json:"thread,omitempty"`
	// Size is the size of all values, as eval.Size measures it.
	Size int `json:"size,omitempty"`

	base  *View // the view with the number Base
	env   map[string]any
	lists map[int][]any
	scope *Scope
	// overruled has the fan-outs at which writes to replace keys lost in a merge.
	overruled map[int]int
}

// Visits counts the visits of a node and, if a policy needs it, the successful ones.
type Visits struct {
	Node      int `json:"node"`
	Count     int `json:"count"`
	Succeeded int `json:"succeeded,omitempty"`
}

// Memory holds the results of a node that expressions read. It is immutable.
type Memory struct {
	// Output is the last output of the node. Stale means that the last visit gave none.
	Output  any      `json:"output,omitempty"`
	Stale   bool     `json:"stale,omitempty"`
	Outcome string   `json:"outcome,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
	History []any    `json:"history,omitempty"`
}

// FinishedStep is a finished step of a branch that a join may have to replay.
type FinishedStep struct {
	*Position
	Task int `json:"task"`
	Node int `json:"node"`
	Rank int `json:"rank"`
	// Hoist is set on steps of failed branches: in merge order they follow this rank, that of the
	// split.
	Hoist   int      `json:"hoist,omitempty"`
	Skipped bool     `json:"skipped,omitempty"`
	Refused bool     `json:"refused,omitempty"`
	Output  any      `json:"output,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
	Writes  []Write  `json:"writes,omitempty"`
}

// Write is one change of a state key.
type Write struct {
	Key    int `json:"key"`
	Update any `json:"update,omitempty"`
	// Absent removes the value, because the key had none at the split of a conflict.
	Absent bool `json:"absent,omitempty"`
	// Reset sets the key to Update without its reducer.
	Reset bool `json:"reset,omitempty"`
	// ID numbers the writes to keys with the reducer replace. After are the preceding writes to the
	// key.
	ID    int   `json:"id,omitempty"`
	After []int `json:"after,omitempty"`
}

// none marks a key without a value.
type none struct{}

var absent any = none{}

// newView creates a view with the values of base.
func (sc *Scope) newView(base *View) *View {
	v := &View{}
	sc.initView(v, base)
	return v
}

// initView initialises a view with the values of base.
func (sc *Scope) initView(v, base *View) {
	sc.state.Numbers.View++
	v.ID, v.scope = sc.state.Numbers.View, sc
	if base != nil {
		v.base, v.Base, v.Depth = base, base.ID, base.Depth+1
		v.Vals, v.Heads = slices.Clone(base.Vals), maps.Clone(base.Heads)
		v.Count, v.Thread, v.Size = base.Count, base.Thread, base.Size
	}
	sc.Views = append(sc.Views, v)
}

// setEntry sets a value in a map that may be nil, and returns the map.
func setEntry[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[key] = value
	return m
}

func findVisits(list []Visits, node int) (int, bool) {
	return slices.BinarySearchFunc(list, node, func(one Visits, node int) int { return one.Node - node })
}

func (v *View) visitCount(node int) int { return v.sumVisits(node).Count }

func (v *View) sumVisits(node int) (sum Visits) {
	for ; v != nil; v = v.base {
		if i, found := findVisits(v.Visits, node); found {
			sum.Count += v.Visits[i].Count
			sum.Succeeded += v.Visits[i].Succeeded
		}
	}
	return sum
}

// addVisits adds to the visits of a node since the split.
func (v *View) addVisits(more Visits) {
	i, found := len(v.Visits), false
	if i > 0 && v.Visits[i-1].Node >= more.Node {
		i, found = findVisits(v.Visits, more.Node)
	}
	if !found {
		v.Visits = slices.Insert(v.Visits, i, Visits{Node: more.Node})
	}
	v.Visits[i].Count += more.Count
	v.Visits[i].Succeeded += more.Succeeded
}

// lastMemory returns the last result of a node in the past, or nil.
func (v *View) lastMemory(node int) *Memory {
	for ; v != nil; v = v.base {
		if m := v.Mem[node]; m != nil {
			return m
		}
	}
	return nil
}

// addCounts adds the visits and results of a later view.
func (v *View) addCounts(later *View) {
	for _, visits := range later.Visits {
		v.addVisits(visits)
	}
	for node, m := range later.Mem { //lint:ignore mapiter each is set once
		v.Mem = setEntry(v.Mem, node, m)
	}
}

// addPast adds the visits and results of a view and of all its bases.
func (v *View) addPast(of *View) {
	if base := of.base; base != nil {
		v.addPast(base)
	}
	v.addCounts(of)
}

// isBuiltOn reports whether a view is base or built on it.
func (v *View) isBuiltOn(base *View) bool {
	for v != nil && v.Depth > base.Depth {
		v = v.base
	}
	return v == base
}

// isViewUsed reports whether a task, or a split after v, is built on v.
func (sc *Scope) isViewUsed(v *View) bool {
	return slices.ContainsFunc(sc.allTasks(), func(t *Task) bool { return t.view().isBuiltOn(v) }) ||
		slices.ContainsFunc(sc.Fans, func(f *Fan) bool { return f.View != v.ID && sc.findView(f.View).isBuiltOn(v) })
}

// sweepViews removes unused views once they may be half of all views.
func (sc *Scope) sweepViews() {
	if len(sc.Views) <= 2*sc.swept {
		return
	}
	used := map[*View]bool{sc.Views[0]: true}
	mark := func(id int) {
		for v := sc.findView(id); v != nil && !used[v]; v = v.base {
			used[v] = true
		}
	}
	mark(sc.FinalView)
	for _, t := range sc.allTasks() {
		mark(t.View)
	}
	for _, f := range sc.Fans {
		mark(f.View)
	}
	sc.Views = slices.DeleteFunc(sc.Views, func(v *View) bool { return !used[v] })
	sc.swept = len(sc.Views)
}

// asFinishedStep returns a finished task as a step of a past.
func (t *Task) asFinishedStep() FinishedStep {
	d := FinishedStep{
		Position: t.Position, Task: t.ID, Node: t.Node, Rank: t.Rank, Skipped: t.Skipped, Refused: t.Refused,
		Failure: t.Failure, Writes: t.Writes,
	}
	if t.scope.plan.watched[t.Node] && t.Failure == nil {
		d.Output = t.output()
	}
	return d
}

// change is a value that setValue replaced, with the previous size of the state.
type change struct {
	key, size int
	value     any
}

// changeMark returns the number of changes so far, for rollBack.
func (v *View) changeMark() int { return len(v.scope.state.changes) }

// rollBack undoes the changes of values since a mark.
func (v *View) rollBack(mark int) {
	s := v.scope.state
	for _, c := range slices.Backward(s.changes[mark:]) {
		v.setValue(c.key, c.value, c.size)
	}
	s.changes = s.changes[:mark]
}

// undo holds what revertTask restores.
type undo struct {
	mark   int
	heads  map[int][]int
	mem    *Memory
	thread *thread
}

// applyTask adds a finished step to the view of its task.
func (v *View) applyTask(t *Task) undo {
	back := undo{v.changeMark(), v.Heads, v.Mem[t.Node], v.Thread}
	for i := range t.Writes {
		v.applyWrite(&t.Writes[i])
	}
	d := t.asFinishedStep()
	v.countStep(&d, 1)
	v.updateMemory(&d)
	if t.Thread != nil {
		v.Thread = t.Thread
	}
	if v.Base != 0 {
		v.Heads = maps.Clone(v.Heads)
		for i := range t.Writes {
			if w := &t.Writes[i]; v.scope.plan.keys[w.Key].reducer == reduceReplace {
				v.addHead(w)
			}
		}
		kept := d
		v.Done = append(v.Done, &kept)
	}
	return back
}

// addHead numbers a write to a key with the reducer replace, and makes it the key's latest write.
func (v *View) addHead(w *Write) {
	s := v.scope.state
	s.Numbers.Write++
	w.ID, w.After = s.Numbers.Write, v.Heads[w.Key]
	v.Heads = setEntry(v.Heads, w.Key, []int{w.ID})
}

// revertTask removes the last step of the view.
func (v *View) revertTask(t *Task, back undo) {
	v.rollBack(back.mark)
	v.Heads, v.Thread = back.heads, back.thread
	d := t.asFinishedStep()
	v.countStep(&d, -1)
	if back.mem != nil {
		v.Mem = setEntry(v.Mem, t.Node, back.mem)
	} else {
		delete(v.Mem, t.Node)
	}
	if v.Base != 0 {
		v.Done = v.Done[:len(v.Done)-1]
	}
}

// countStep adds a step to the counts, or removes it.
func (v *View) countStep(d *FinishedStep, by int) {
	if d.Refused {
		return
	}
	v.Count += by
	if visits := (Visits{Node: d.Node, Count: by}); !d.Skipped {
		if d.Failure == nil && v.scope.plan.requires {
			visits.Succeeded = by
		}
		v.addVisits(visits)
	}
}

// updateMemory records the result of a step whose node is watched.
func (v *View) updateMemory(d *FinishedStep) {
	if !v.scope.plan.watched[d.Node] {
		return
	}
	m := &Memory{Outcome: formatOutcome(d.Failure), Failure: d.Failure, Stale: true}
	if old := v.lastMemory(d.Node); old != nil {
		m.History, m.Output, m.Stale = old.History, old.Output, !d.Refused || old.Stale
	}
	if d.Failure == nil && !d.Skipped {
		m.Output, m.Stale = d.Output, false
		if v.scope.plan.wanted["history"] {
			m.History = append(slices.Clip(m.History), d.Output)
		}
	}
	v.Mem = setEntry(v.Mem, d.Node, m)
}

// applyWrite applies one write. A write that is invalid after a merge changes nothing and returns a
// failure.
func (v *View) applyWrite(w *Write) *Failure {
	reducer, value := v.scope.plan.keys[w.Key].reducer, w.Update
	if w.Absent {
		value = absent
	} else if !w.Reset && reducer != reduceReplace {
		var failure *Failure
		if value, failure = v.reduceUpdate(w.Key, w.Update); failure != nil {
			return failure
		}
		switch list, _ := value.([]any); reducer {
		case reduceAppend:
			v.lists = setEntry(v.lists, w.Key, list)
			v.setValue(w.Key, slices.Clip(list), v.Size+measureValue(w.Update)) // avoids measuring the whole list
			return nil
		case reducePrepend:
			v.setValue(w.Key, value, v.Size+measureValue(w.Update))
			return nil
		}
	}
	v.setValue(w.Key, value, v.Size-measureValue(v.Vals[w.Key])+measureValue(value))
	return nil
}

// setValue sets the value of a key and the size of the state.
func (v *View) setValue(key int, value any, size int) {
	s := v.scope.state
	s.changes = append(s.changes, change{key, v.Size, v.Vals[key]})
	v.Vals[key], v.Size = value, size
	if v.env == nil {
		return
	}
	if name := v.scope.plan.keys[key].name; value == absent {
		delete(v.env, name)
	} else {
		v.env[name] = value
	}
}

// value returns the value of a key, or nil if it is absent.
func (v *View) value(key int) any {
	if value := v.Vals[key]; value != absent {
		return value
	}
	return nil
}

// mergeTasks returns the merged view of several tasks, and the conflicts. Steps of lost branches are
// merged directly after the split.
func (sc *Scope) mergeTasks(arrived, lost []*Task) (*View, []Conflict) {
	all := slices.Concat(arrived, lost)
	base := all[0].view()
	for _, t := range all[1:] {
		base = findCommonBase(base, t.view())
	}
	steps := sc.collectSteps(base, arrived, lost)
	v := sc.newView(base)
	v.Done = steps
	writers := map[int]bool{}
	byID := map[int]*writer{}
	for at, d := range steps {
		v.countStep(d, 1)
		v.updateMemory(d)
		for i := range d.Writes {
			w := &d.Writes[i]
			if sc.plan.keys[w.Key].reducer == reduceReplace {
				writers[w.Key] = true
				byID[w.ID] = &writer{w, d, at}
			} else {
				v.applyWrite(w)
			}
		}
	}
	var conflicts []Conflict
	for _, key := range slices.Sorted(maps.Keys(writers)) {
		heads, winner, found := v.decideConflict(key, all, byID)
		if winner != nil {
			v.applyWrite(winner.Write)
		}
		v.Heads = setEntry(v.Heads, key, heads)
		conflicts = append(conflicts, found...)
	}
	v.Thread = sc.mergeThreads(arrived)
	return v, conflicts
}

// findCommonBase returns the view on which both a and b are built.
func findCommonBase(a, b *View) *View {
	for a != b {
		if a.Depth >= b.Depth {
			a = a.base
		} else {
			b = b.base
		}
	}
	return a
}

// collectSteps returns the steps of tasks since a view, in merge order.
func (sc *Scope) collectSteps(base *View, arrived, lost []*Task) []*FinishedStep {
	var out []*FinishedStep
	index := make(map[int]int, len(arrived)+len(lost)) // index in out, by task
	all := slices.Concat(arrived, lost)
	split := sc.findSplit(all)
	add := func(d *FinishedStep, isLost bool) {
		at, known := index[d.Task]
		if known && (d.Hoist == 0 || out[at].Hoist != 0) {
			return
		}
		if isLost || d.Hoist != 0 {
			hoisted := *d
			if hoisted.Hoist = cmp.Or(d.Hoist, d.Rank); split != nil {
				hoisted.Hoist = split.Rank
			}
			d = &hoisted
		}
		if known {
			out[at] = d
			return
		}
		index[d.Task] = len(out)
		out = append(out, d)
	}
	for i, t := range all {
		isLost := i >= len(arrived)
		for v := t.view(); v != base; v = v.base {
			for _, d := range v.Done {
				add(d, isLost)
			}
		}
		if t.Done && (isLost || t.ID == sc.Culprit) {
			d := t.asFinishedStep()
			add(&d, isLost)
		}
	}
	slices.SortFunc(out, func(a, b *FinishedStep) int {
		return cmp.Or(cmp.Compare(a.mergeRank(), b.mergeRank()), comparePositions(a.Rank, a.Order, b.Rank, b.Order))
	})
	return out
}

// mergeRank returns twice the rank, plus one for hoisted steps, which follow the others.
func (d *FinishedStep) mergeRank() int {
	if d.Hoist != 0 {
		return 2*d.Hoist + 1
	}
	return 2 * d.Rank
}

// findSplit returns the outermost fan-out where tasks are on different branches, or nil.
func (sc *Scope) findSplit(tasks []*Task) *Fan {
	var first Lane
	for i := 0; ; i++ {
		var at *Fan
		apart, ends := false, false
		for _, t := range tasks {
			if i >= len(t.Place) {
				ends = true
				continue
			}
			lane := t.Place[i]
			apart = apart || at != nil && lane != first
			if at == nil {
				first = lane
			}
			if at == nil || at.ID != lane.Fan {
				if f := sc.findFan(lane.Fan); at == nil || f.Rank < at.Rank {
					at = f
				}
			}
		}
		if at == nil || apart || ends {
			return at
		}
	}
}

// foldView folds a merged view into its base if nothing else uses the base. It returns the view to use,
// and the finished fan-out.
func (sc *Scope) foldView(v *View) (*View, *Fan) {
	base := v.base
	if sc.isViewUsed(base) || sc.plan.failsBypassed && len(sc.Detours) > 0 {
		return v, nil
	}
	base.addCounts(v)
	base.Vals, base.Count, base.Thread, base.Size, base.env, base.lists = v.Vals, v.Count, v.Thread, v.Size, nil, nil
	if base.Base != 0 {
		base.Done, base.Heads = append(base.Done, v.Done...), v.Heads
	}
	dead := map[int]bool{}
	var first *Fan
	sc.Fans = slices.DeleteFunc(sc.Fans, func(f *Fan) bool {
		if f.View != base.ID {
			return false
		}
		if first == nil {
			first = f
		}
		dead[f.ID] = true
		return true
	})
	isDead := func(l Lane) bool { return dead[l.Fan] }
	sc.Detours = slices.DeleteFunc(sc.Detours, func(b *Detour) bool {
		return slices.ContainsFunc(b.Place, isDead)
	})
	for key, heads := range base.Heads { //lint:ignore mapiter each is changed once
		base.Heads[key] = slices.DeleteFunc(slices.Clone(heads), func(id int) bool { return dead[v.overruled[id]] })
	}
	for _, d := range base.Done {
		if slices.ContainsFunc(d.Lanes, isDead) {
			at := *d.Position
			at.Lanes = slices.DeleteFunc(slices.Clone(d.Lanes), isDead)
			d.Position = &at
		}
	}
	return base, first
}

// mergeAllTasks returns a read-only view of all steps of the scope, merged as at a join.
func (sc *Scope) mergeAllTasks() (*View, []Conflict) {
	if sc.FinalView != 0 {
		return sc.findView(sc.FinalView), nil
	}
	arrived, lost := slices.Concat(sc.Ended, sc.Tasks), sc.Gone
	if len(arrived) == 0 {
		arrived, lost = lost, nil
	}
	if len(arrived) == 0 {
		return sc.Views[0], nil
	}
	slices.SortStableFunc(arrived, func(a, b *Task) int { return slices.Compare(a.Order, b.Order) })
	numbers := sc.state.Numbers
	v, conflicts := sc.mergeTasks(arrived, lost)
	sc.state.Numbers = numbers
	whole := &View{}
	whole.addPast(v)
	v.Visits, v.Mem = whole.Visits, whole.Mem
	v.Base, v.base = 0, nil
	sc.Views = sc.Views[:len(sc.Views)-1]
	return v, conflicts
}

// changedKeys returns the keys written since the split, or all keys of the root view.
func (v *View) changedKeys() []int {
	var keys []int
	if v.Base == 0 {
		for key := range v.Vals {
			keys = append(keys, key)
		}
	}
	for _, d := range v.Done {
		keys = append(keys, writtenKeys(d.Writes)...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func writtenKeys(writes []Write) []int {
	keys := make([]int, len(writes))
	for i := range writes {
		keys[i] = writes[i].Key
	}
	return keys
}
