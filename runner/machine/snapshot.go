// Snapshots: encoding and decoding the whole state as JSON.

package machine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/eval"
)

// Snapshot returns the state as JSON for Restore.
func (s *State) Snapshot() ([]byte, error) { return json.Marshal(s) }

// Restore reads a snapshot of a run of the same plan.
func (p *Plan) Restore(text []byte) (*State, error) {
	s := p.NewState()
	if err := eval.DecodeJSON(text, s); err != nil {
		return nil, fmt.Errorf("the snapshot can't be read: %w", err)
	}
	for _, sc := range s.Scopes {
		if err := sc.relinkScope(s, p, nil); err != nil {
			return nil, err
		}
	}
	for _, sc := range s.Scopes {
		if err := sc.relinkTasks(); err != nil {
			return nil, err
		}
	}
	for _, sc := range s.Scopes {
		for _, t := range sc.activeTasks() {
			if !t.Begun && sc.End == nil || t.Final && !t.Begun {
				s.makeReady(ready{t, nil})
			}
			for _, u := range t.Units {
				if u.State == queued && t.Begun && !t.Done {
					s.makeReady(ready{t, u})
				}
				if u.State == running && sc.plan.nodes[t.Node].countsForConcurrency() {
					sc.visitEnclosing(func(one *Scope) { one.running++ })
				}
			}
		}
	}
	return s, nil
}

// MarshalJSON writes a view. A view with a base writes only the values that differ.
func (v *View) MarshalJSON() ([]byte, error) {
	type plain View // without this method
	out := plain(*v)
	for _, key := range v.changedKeys() {
		out.Kept = append(out.Kept, Write{Key: key, Absent: v.Vals[key] == absent, Update: v.value(key)})
	}
	return json.Marshal(&out)
}

// relinkScope restores the pointers of a decoded scope. outer is the scope around a suspended one.
func (sc *Scope) relinkScope(s *State, p *Plan, outer *Scope) error {
	sc.state, sc.plan, sc.due = s, p, true
	if sc.Outer != 0 {
		if outer = cmp.Or(outer, s.byID[sc.Outer]); outer == nil {
			return fmt.Errorf("scope %d has no scope %d around it", sc.ID, sc.Outer)
		}
		sc.outer = outer
		if sc.plan = outer.plan.Inner[sc.Graph]; sc.plan == nil {
			return fmt.Errorf("graph %q is unknown", sc.Graph)
		}
	}
	s.byID[sc.ID] = sc
	sc.setLimits()
	for _, v := range sc.Views {
		v.scope = sc
		v.Vals = slices.Clone(sc.plan.initial)
		if v.Base != 0 {
			base := sc.findView(v.Base)
			if base == nil {
				return fmt.Errorf("view %d has no view %d below it", v.ID, v.Base)
			}
			v.base = base
			copy(v.Vals, base.Vals)
		}
		for _, w := range v.Kept {
			if v.Vals[w.Key] = w.Update; w.Absent {
				v.Vals[w.Key] = absent
			}
		}
		v.Kept = nil
	}
	return nil
}

// relinkTasks restores the pointers of a scope's tasks, and of the graphs that they run.
func (sc *Scope) relinkTasks() error {
	s := sc.state
	tasks := sc.allTasks()
	if sc.Final != nil {
		tasks = append(tasks, sc.Final)
	}
	for _, t := range tasks {
		t.scope = sc
		for _, u := range t.Units {
			for _, c := range u.Called {
				inner := c.Kept
				if inner == nil {
					inner = s.byID[c.Scope]
				} else if err := inner.relinkScope(s, nil, sc); err != nil {
					return err
				} else if err := inner.relinkTasks(); err != nil {
					return err
				}
				if inner != nil {
					inner.owner, inner.suspended = t, c.Kept != nil
				}
			}
		}
	}
	for _, t := range slices.Concat(sc.Ended, sc.Gone) {
		t.gone = true
	}
	return nil
}
