// Pauses: breakpoints, and those asked for.

package machine

import (
	"slices"
	"strings"
)

// Breakpoint is where a run stands paused: phase "before" or "after" the nodes.
type Breakpoint struct {
	Phase string
	Nodes []string
}

// pause stops the run until it is resumed, or its questions are answered.
func (p *Plan) pause(s *State, reason string) {
	s.setStatus(Paused, reason)
	s.pausedFrom = s.now
	if s.deadline > 0 {
		s.command(Command{Kind: StopTimer, Timer: RunTimer})
	}
	s.eachBranch(func(at place) { s.command(Command{Kind: StopTimer, Timer: BranchTimer, Task: p.laneID(at)}) })
	s.command(Command{Kind: Pause})
}

// stopBefore pauses before nodes that are due and have a breakpoint; nodes it
// has paused for once are let through.
func (p *Plan) stopBefore(s *State) bool {
	var nodes []string
	for i := range s.next {
		t := &s.next[i]
		if t.visit == 0 && !t.released && slices.Contains(s.breakBefore, p.nodes[t.node].id) {
			nodes = append(nodes, p.nodes[t.node].id)
		}
	}
	if nodes == nil {
		return false
	}
	s.PausedAt = &Breakpoint{Phase: "before", Nodes: nodes}
	p.pause(s, "pause")
	return true
}

// stopAfter notes that the superstep that has just closed ran a node with a
// breakpoint.
func (p *Plan) stopAfter(s *State) {
	var nodes []string
	for _, i := range s.Ran {
		if id := p.nodes[i].id; slices.Contains(s.breakAfter, id) && !slices.Contains(nodes, id) {
			nodes = append(nodes, id)
		}
	}
	if nodes != nil {
		s.PausedAt, s.pauseDue = &Breakpoint{Phase: "after", Nodes: nodes}, true
	}
}

// pauseAsked pauses when no superstep is open, else when this one closes: soon,
// since its subgraphs pause too. A run is paused to wait only while it does.
func (p *Plan) pauseAsked(s *State, reason string) {
	if s.final != nil {
		return // the end of the run is decided
	}
	if reason == "wait" {
		if s.Idle() {
			p.pause(s, reason)
		}
		return
	}
	s.pauseDue = true
	for i := range s.tasks {
		t := &s.tasks[i]
		switch {
		case !s.open || p.nodes[t.node].kind != "graph":
		case t.each != nil:
			for _, i := range sortedElements(t.each.running) {
				s.command(Command{Kind: PauseTask, Task: s.elementID(t, i, t.each.running[i].attempt)})
			}
		case t.status == running:
			s.command(Command{Kind: PauseTask, Task: s.taskID(t)})
		}
	}
	if !s.open && s.deciding == 0 && s.closing == nil {
		p.proceed(s)
	}
}

// passBreakpoints lets subgraphs that stand at a breakpoint run again.
func (s *State) passBreakpoints() {
	s.parked = deleteTasks(s.parked, func(t *task) bool {
		goes := t.asked != nil && t.asked.pass()
		if t.each != nil {
			for _, i := range sortedQuestions(t.each.asking) {
				if t.each.asking[i].pass() && !slices.Contains(t.each.again, i) {
					t.each.again = append(t.each.again, i)
					goes = true
				}
			}
		}
		if goes {
			s.next = append(s.next, *t)
			s.mixed = true
		}
		return goes
	})
}

// standAt adds to the breakpoint of the run those that its subgraphs stand at.
func (s *State) standAt() {
	add := func(id TaskID, at *Breakpoint) {
		if at == nil || len(at.Nodes) == 0 || s.PausedAt != nil && s.PausedAt.Phase != at.Phase {
			return
		}
		if s.PausedAt == nil {
			s.PausedAt = &Breakpoint{Phase: at.Phase}
		}
		for _, node := range at.Nodes {
			inner := Question{Task: id, Ask: Ask{Node: node}}
			s.PausedAt.Nodes = append(s.PausedAt.Nodes, inner.Path())
		}
	}
	for i := range s.parked {
		t := &s.parked[i]
		if t.asked != nil {
			add(s.taskID(t), t.asked.at)
		}
		if t.each == nil {
			continue
		}
		for _, i := range sortedQuestions(t.each.asking) {
			add(s.elementID(t, i, 1), t.each.asking[i].at)
		}
	}
}

// inside are the breakpoints of a subgraph among those of the run.
func inside(breakpoints []string, node string) []string {
	var out []string
	for _, path := range breakpoints {
		if first, rest, nested := strings.Cut(path, "/"); nested && first == node {
			out = append(out, rest)
		}
	}
	return out
}

// pass wakes a subgraph that stands at a breakpoint; it reports whether it does.
func (q *questions) pass() bool {
	if q.at == nil {
		return false
	}
	q.at, q.woken = nil, true
	return true
}
