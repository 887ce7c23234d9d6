// Elements that go on after they waited: for a retry delay, or for a person.

package machine

import "slices"

// elementDue lets an element whose retry delay is over run again.
func (p *Plan) elementDue(s *State, id TaskID) bool {
	i := id.Element - 1
	return p.rouseElement(s, id, false, func(t *task) (matches, runs bool) {
		e := t.each
		if e.attempts[i].attempt != id.Attempt || slices.Contains(e.again, i) {
			return false, false
		}
		e.again = append(e.again, i)
		s.Effect = Applied
		return true, true
	})
}

// rouseElement finds the node of an element and, when change says so, lets it go
// on: at once while its superstep is open, else in the next one. It reports
// whether change took what happened.
func (p *Plan) rouseElement(s *State, id TaskID, hold bool, change func(t *task) (matches, runs bool)) bool {
	isNode := func(t *task) bool {
		return t.each != nil && t.visit == id.Visit && p.nodes[t.node].id == id.Node
	}
	for i := range s.tasks {
		t := &s.tasks[i]
		if !s.open || !isNode(t) {
			continue
		}
		matches, runs := change(t)
		switch {
		case !runs:
		case t.status == delayed || t.status == asking:
			if !t.due {
				t.due, t.order = true, s.nextOrder()
			}
		case t.status == running:
			s.moreToStart(t)
			p.startReady(s)
		}
		return matches
	}
	for i := range s.parked {
		t := &s.parked[i]
		if !isNode(t) {
			continue
		}
		matches, runs := change(t)
		if runs {
			p.leavePark(s, i, hold)
		}
		return matches
	}
	for i := range s.next {
		if t := &s.next[i]; isNode(t) {
			matches, _ := change(t)
			return matches
		}
	}
	return false
}
