// Steps that several subgraphs share (GraphSpec §5). A subgraph that runs beside
// others takes no step that the driver has not set aside for it: how many are
// left depends on what the others do meanwhile, so that each grant is an event.

package machine

// grants are the steps that the runs around a subgraph have granted it.
type grants struct {
	// Granted counts its own steps that it may take, those taken too.
	Granted int `json:"granted,omitempty"`
	// Asked is how many it has asked for and waits for; 0: none.
	Asked int `json:"asked,omitempty"`
	// Denied says that it got fewer than it asked for.
	Denied bool `json:"denied,omitempty"`
	// Above says whose limit left it, or a subgraph of its own, without a step: 1 is
	// that of the next run around; 0: its own, or none did.
	Above int `json:"above,omitempty"`
}

// shares reports whether the run has to ask for its steps.
func (s *State) shares() bool { return s.final == nil && s.parent != nil && s.parent.Shared }

// regrant takes what a run begins or goes on with.
func (s *State) regrant() {
	s.grants = grants{}
	if s.parent != nil {
		s.grants.Granted = s.Steps + s.parent.Granted
	}
}

// asksSteps asks for the steps of the next superstep. It reports whether these
// have to be waited for.
func (s *State) asksSteps() bool {
	if !s.shares() || s.grants.Denied {
		return false
	}
	if s.grants.Asked > 0 {
		return true
	}
	missing := min(s.StepsWanted(), s.ownStepsLeft()) - (s.grants.Granted - s.Steps)
	if missing <= 0 {
		return false
	}
	s.grants.Asked = missing
	s.command(Command{Kind: TakeSteps, Steps: missing})
	return true
}

// stepsGranted takes the answer, also when the run has paused meanwhile.
func (p *Plan) stepsGranted(s *State, e *Event) {
	if s.grants.Asked == 0 {
		return
	}
	s.Effect = Applied
	s.grants.Granted += e.Steps
	if e.Steps < s.grants.Asked {
		s.grants.Denied, s.grants.Above = true, e.Above
	}
	s.grants.Asked = 0
	if s.live {
		p.resumeIdle(s)
	}
}

// StepsWanted is how many steps the tasks that are due next would take.
func (s *State) StepsWanted() int {
	wanted := 0
	for i := range s.next {
		if s.next[i].visit == 0 {
			wanted++
		}
	}
	return wanted
}

// StepsFree is how many steps the run and its subgraphs may still take as far as
// its own limit goes, and what it was given if it does not share.
func (s *State) StepsFree() int {
	if s.shares() {
		return s.ownStepsLeft()
	}
	return s.stepsLeft()
}

func (s *State) ownStepsLeft() int { return s.limits.MaxSteps - s.Steps - s.ChildSteps }

// sharesSteps reports whether subgraphs that a task of the open superstep runs may
// run beside others.
func (p *Plan) sharesSteps(s *State, t *task) bool {
	n := &p.nodes[t.node]
	if !n.runsGraphs || s.final != nil {
		return false
	}
	if s.shares() || n.kind != "graph" || t.each != nil && len(t.each.items) > 1 {
		return true // the calls of a node's tools may be at once
	}
	for i := range s.tasks {
		other := &s.tasks[i]
		if other != t && p.nodes[other.node].runsGraphs && (other.status == ready || other.status == running) {
			return true
		}
	}
	return false
}
