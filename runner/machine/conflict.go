// Conflicts: which of several writes to a key wins (GraphSpec §7).

package machine

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Conflict is a key with conflicting writes, and the fan-out whose branches wrote them.
type Conflict struct {
	Key int `json:"key"`
	Fan int `json:"fan"`
}

// writer is a write with its step and the step's position in merge order.
type writer struct {
	*Write
	done *FinishedStep
	at   int
}

// decideConflict returns the winning write of a replace key after a merge. A write in the past of
// another loses. Between concurrent writes, parallel.conflict of the innermost fan-out decides.
func (v *View) decideConflict(key int, tasks []*Task, byID map[int]*writer) (heads []int, winner *writer, found []Conflict) {
	sc := v.scope
	past := map[*writer]map[int]bool{}
	before := map[int]bool{}
	for _, t := range tasks {
		for _, id := range t.latestWrites(key) {
			if !slices.Contains(heads, id) {
				heads = append(heads, id)
			}
			if w := byID[id]; w != nil && past[w] == nil {
				past[w] = collectPastWrites(w.After, byID)
				maps.Copy(before, past[w])
			}
		}
	}
	left := slices.SortedFunc(maps.Keys(past), func(a, b *writer) int { return cmp.Or(a.at-b.at, a.ID-b.ID) })
	left = slices.DeleteFunc(left, func(w *writer) bool { return before[w.ID] })
	if len(left) == 0 {
		return heads, nil, nil
	}
	for _, f := range append(sc.enclosingFans(left), nil) {
		policy, fan := sc.plan.Graph.Parallel.Conflict, 0
		if f != nil {
			policy, fan = sc.plan.nodes[f.Source].parallel.Conflict, f.ID
		}
		for {
			a, b := findConcurrentWriters(left, f)
			if b == nil {
				break
			}
			loser := a
			switch policy {
			case "first_wins":
				old := sc.writesBefore(f, key, byID)
				if firstWriteIndex(a, past[a], byID, old) < firstWriteIndex(b, past[b], byID, old) {
					loser = b
				}
			case "error":
				found = append(found, Conflict{Key: key, Fan: fan})
			}
			if f != nil {
				v.overruled = setEntry(v.overruled, loser.ID, fan)
			}
			left = slices.DeleteFunc(left, func(w *writer) bool { return w == loser })
		}
	}
	return heads, left[0], found
}

// latestWrites returns the latest writes to a key in the task's past.
func (t *Task) latestWrites(key int) []int {
	if t.Done {
		for i := len(t.Writes) - 1; i >= 0; i-- {
			if t.Writes[i].Key == key && t.Writes[i].ID != 0 {
				return []int{t.Writes[i].ID}
			}
		}
	}
	return t.view().Heads[key]
}

// collectPastWrites returns the last writes to a key and all writes in their past.
func collectPastWrites(last []int, byID map[int]*writer) map[int]bool {
	out, todo := map[int]bool{}, slices.Clone(last)
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if next := byID[id]; next != nil && !out[id] {
			out[id] = true
			todo = append(todo, next.After...)
		}
	}
	return out
}

// writesBefore returns the writes to a key in the past of a split, or none if split is nil.
func (sc *Scope) writesBefore(split *Fan, key int, byID map[int]*writer) map[int]bool {
	if split == nil {
		return nil
	}
	return collectPastWrites(sc.findView(split.View).Heads[key], byID)
}

// firstWriteIndex returns the position of a branch's first write that is not old.
func firstWriteIndex(w *writer, past map[int]bool, byID map[int]*writer, old map[int]bool) int {
	first := w.at
	for id := range past { //lint:ignore mapiter a minimum
		if !old[id] {
			first = min(first, byID[id].at)
		}
	}
	return first
}

// enclosingFans returns the fan-outs around writers, innermost first.
func (sc *Scope) enclosingFans(writers []*writer) []*Fan {
	var out []*Fan
	for _, w := range writers {
		for _, lane := range w.done.Lanes {
			if f := sc.findFan(lane.Fan); f != nil && !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(a, b *Fan) int { return comparePositions(b.Rank, b.Order, a.Rank, a.Order) })
	return out
}

// findConcurrentWriters returns two writers on different branches of a fan-out, or any two if f is nil.
func findConcurrentWriters(list []*writer, f *Fan) (a, b *writer) {
	for i, a := range list {
		for _, b := range list[i+1:] {
			if f == nil || areOnDifferentBranches(a.done.Lanes, b.done.Lanes, f.ID) {
				return a, b
			}
		}
	}
	return nil, nil
}

// areOnDifferentBranches reports whether two steps were on branches of a fan-out, but never on the same
// one.
func areOnDifferentBranches(a, b []Lane, fan int) bool {
	apart := findLane(b, fan) >= 0
	on := false
	for _, lane := range a {
		if lane.Fan == fan {
			on = true
			apart = apart && !slices.Contains(b, lane)
		}
	}
	return on && apart
}

// conflictFailure returns the failure for a write conflict at a join, or at noNode.
func (sc *Scope) conflictFailure(node int, c Conflict) *Failure {
	who := "branches"
	if fan := sc.findFan(c.Fan); fan != nil {
		var names []string
		for _, b := range fan.Branch {
			names = append(names, sc.plan.targetName(b.First))
		}
		who += " of node " + strconv.Quote(sc.plan.nodes[fan.Source].id) + " (" + strings.Join(names, ", ") + ")"
	}
	f := &Failure{Kind: "conflict", Message: who + " wrote different values to state key " +
		strconv.Quote(sc.plan.keys[c.Key].name) + " (parallel.conflict is error)"}
	if node >= 0 {
		f.Node = sc.plan.nodes[node].id
	}
	return f
}
