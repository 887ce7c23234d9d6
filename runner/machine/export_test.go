package machine

import (
	"errors"
	"fmt"
)

// CheckTokens checks the books of the branches: each live fan-out counts exactly
// the tokens that are on its branches, no running task is counted twice or
// forgotten, and nobody waits at a join with nothing.
func CheckTokens(s *State) error {
	if s.Status != Running || s.outOfSteps {
		return nil
	}
	count := map[*fanout]int{}
	token := func(at place) {
		if at.dead() {
			return
		}
		for f := at.fan; f != nil; f = f.at.fan {
			count[f]++
		}
	}
	idle, busy := 0, 0
	for i := range s.tasks {
		t := &s.tasks[i]
		token(t.at)
		if s.open && i > 0 && declaredAfter(s.tasks[i-1].at, t.at) {
			return fmt.Errorf("task %v comes before %v: not the declaration order of their branches", s.taskID(&s.tasks[i-1]), s.taskID(t))
		}
		switch {
		case t.status == 0 && s.open:
			return fmt.Errorf("task %v of the open superstep was not entered", s.taskID(t))
		case t.each != nil && t.status != dropped:
			busy += len(t.each.running)
			if t.status == ready {
				idle++
			}
		case t.status == running:
			busy++
		case t.status == ready:
			idle++
		}
	}
	if idle != s.readyTasks || busy != s.runningTasks {
		return fmt.Errorf("%d ready and %d running tasks are counted, there are %d and %d", s.readyTasks, s.runningTasks, idle, busy)
	}
	for _, list := range [...][]task{s.next, s.parked} {
		for i := range list {
			token(list[i].at)
		}
	}
	for i := range s.barriers {
		for _, a := range s.barriers[i].arrivals {
			token(a.at)
		}
	}
	var err error
	for f, n := range count { //lint:ignore mapiter every difference is an error
		if f.live != n {
			err = errors.Join(err, fmt.Errorf("fan-out %d counts %d tokens, there are %d", f.id, f.live, n))
		}
	}
	if !s.open && s.deciding == 0 && s.closing == nil && !s.noStep && len(s.next) > 0 {
		return errors.Join(err, fmt.Errorf("no superstep is open and %d tasks are due", len(s.next)))
	}
	return err
}

// declaredAfter reports whether of two branches of one fan-out a is on the later.
func declaredAfter(a, b place) bool {
	for f := a.fan; f != nil; f = f.at.fan {
		for g := b; g.fan != nil; g = g.fan.at {
			if g.fan == f {
				return laneIn(a, f) > g.lane
			}
		}
	}
	return false
}

func laneIn(at place, f *fanout) int {
	for at.fan != f {
		at = at.fan.at
	}
	return at.lane
}

// GoRound makes a run one that has gone round too often.
func (s *State) GoRound() { s.rounds = maxBarren + 1 }
