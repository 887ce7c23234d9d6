// The group of runs that a run is in (GraphSpec §2, concurrency).

package machine

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/eval"
)

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
