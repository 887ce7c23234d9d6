// How a run begins: the caller's settings, the input, what the graph sets up, and the
// group of runs it is in (GraphSpec §2, concurrency).

package machine

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
)

// begin sets up the state from the run's input and enters the start node.
func (p *Plan) begin(s *State, e *Event) {
	info := e.Run
	if info == nil {
		info = &RunInfo{}
	}
	s.RunID, s.began = info.ID, e.At
	s.setStatus(Running, "")
	s.limits, s.goal, s.parent = p.limits, p.goal, info.Parent
	s.regrant()
	s.breakBefore, s.breakAfter = p.breakBefore, p.breakAfter
	s.limits.MaxStateBytes = maxStateBytes(&p.limits, s.parent)
	s.applySettings(info)
	s.env = maps.Clone(p.initial)
	s.size, s.sizes = p.size, slices.Clone(p.sizes)
	s.loadInput(info.Session)
	s.loadInput(e.Input)
	s.edit(e.Edit)
	s.loadContext(e.Input, info.Dir)
	if s.limits.Timeout > 0 {
		s.deadline = e.At + int64(s.limits.Timeout)
		s.command(Command{Kind: StartTimer, Timer: RunTimer, For: s.limits.Timeout})
	}
	var input any = e.Input
	if e.Input == nil {
		input = map[string]any{}
	}
	s.next = append(s.next, task{node: p.start, input: input, thread: p.firstThread(s, info.Talk)})
	if p.group != nil {
		s.Group, _ = p.Group(e) // a driver has seen to it that there is no error
	}
	if info.Held {
		p.pause(s, "concurrency")
		return
	}
	p.openSuperstep(s)
}

// applySettings puts a caller's settings in the place of the graph's.
func (s *State) applySettings(info *RunInfo) {
	if info.MaxSteps > 0 {
		s.limits.MaxSteps = info.MaxSteps
	}
	if info.MaxConcurrency > 0 {
		s.limits.MaxConcurrency = info.MaxConcurrency
	}
	if info.MaxStateBytes > 0 {
		s.limits.MaxStateBytes = info.MaxStateBytes
	}
	if info.Timeout > 0 {
		s.limits.Timeout = info.Timeout
	}
	if info.Goal != "" {
		s.goal = info.Goal
	}
	if info.Models != nil {
		s.models = *info.Models
	}
	s.breakBefore = withAll(s.breakBefore, info.PauseBefore)
	s.breakAfter = withAll(s.breakAfter, info.PauseAfter)
}

// withAll is a new list of what is in either.
func withAll(list, more []string) []string {
	out := slices.Clone(list)
	for _, name := range more {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// edit sets state keys by hand: a fork may.
func (s *State) edit(values map[string]any) {
	if len(values) > 0 {
		s.loadInput(values)
	}
	s.edits = nil
}

func (b *builder) setup() {
	b.plan.tools, b.plan.providers = b.bound.Tools, b.bound.Providers
	for _, fields := range [][]bind.Field{b.bound.Tools, b.bound.Providers} {
		for i := range fields {
			b.plan.wanted |= b.usesOf(&fields[i].Value)
		}
	}
}

// Setup evaluates the declarations of tools and providers, by name, as the
// file has them. They hold secrets in the clear: they are for those who start
// a tool or call a model, and for nobody to show or keep. Once the run has
// begun it gives the same at any time.
func (s *State) Setup() (tools, providers map[string]any, err error) {
	env := map[string]any{"secrets": s.secrets, "goal": s.goal, "run": s.env["run"]}
	if tools, err = bind.EvalFields(s.plan.tools, &s.vm, env); err != nil {
		return nil, nil, err
	}
	providers, err = bind.EvalFields(s.plan.providers, &s.vm, env)
	return tools, providers, err
}

// Group names the group that a run which began with an event is in; "" when it is
// in none.
func (p *Plan) Group(began *Event) (string, error) {
	if p.group == nil {
		return "", nil
	}
	s := p.NewState()
	info := began.Run
	if info == nil {
		info = &RunInfo{}
	}
	s.RunID, s.began, s.goal = info.ID, began.At, p.goal
	if info.Goal != "" {
		s.goal = info.Goal
	}
	s.env, s.size, s.sizes = maps.Clone(p.initial), p.size, slices.Clone(p.sizes)
	s.loadInput(info.Session)
	s.loadInput(began.Input)
	s.edit(began.Edit)
	s.loadContext(began.Input, info.Dir)
	if run, ok := s.env["run"].(map[string]any); ok {
		run["now"] = timeText(began.At)
	}
	var input any = began.Input
	if began.Input == nil {
		input = map[string]any{}
	}
	s.env["input"] = input
	value, err := s.vm.Eval(p.group, s.env)
	switch value := value.(type) {
	case nil:
		return "", err
	case string:
		return value, err
	default:
		return eval.Text(value), err
	}
}
