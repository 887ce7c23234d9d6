// Groups of runs in memory.

package store

import (
	"slices"
	"time"
)

// groupMember is a run in the queue of a group, or inside.
type groupMember struct {
	run    *memoryRun
	group  string
	inside bool
	since  time.Time // when it was let in
}

// Enter asks for a place in a group.
func (j *memoryJournal) Enter(group string, limit int) (GroupState, error) {
	var out GroupState
	err := j.write(func() {
		m := j.store
		at := slices.IndexFunc(m.groups, func(g *groupMember) bool { return g.run == j.run })
		if at >= 0 && m.groups[at].group != group {
			m.groups = slices.Delete(m.groups, at, at+1)
			at = -1
		}
		if at < 0 {
			at = len(m.groups)
			m.groups = append(m.groups, &groupMember{run: j.run, group: group})
		}
		own, inside, before := m.groups[at], 0, 0
		for i, g := range m.groups {
			switch {
			case g.group != group:
			case g.inside:
				inside++
			case i < at:
				before++
			}
		}
		if !own.inside && inside+before < limit {
			own.inside, own.since = true, time.Now()
		}
		out.Inside = own.inside
		for _, g := range m.groups {
			if g.group == group && g.inside {
				out.Members = append(out.Members, GroupMember{
					RunID: g.run.summary.ID, Graph: g.run.summary.Graph, Owner: g.run.summary.Owner, Since: g.since,
				})
			}
		}
	})
	slices.SortStableFunc(out.Members, func(a, b GroupMember) int { return a.Since.Compare(b.Since) })
	return out, err
}

// leaveGroup gives up the place of a run; the store is locked.
func (m *Memory) leaveGroup(run *memoryRun) {
	m.groups = slices.DeleteFunc(m.groups, func(g *groupMember) bool { return g.run == run })
}
