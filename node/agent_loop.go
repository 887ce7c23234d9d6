// The key `loop` of agents.

package node

import (
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// loopConfig is the key `loop` with its defaults.
type loopConfig struct {
	Pattern        string         `key:"pattern" default:"turn_limited"`
	MaxTurns       int            `key:"max_turns" default:"10" min:"1"`
	StuckAfter     int            `key:"stuck_after" default:"3" min:"1"`
	MaxCost        float64        `key:"max_cost_usd"` // US dollars; 0 means no limit
	FinishTool     string         `key:"finish_tool"`
	MaxTrials      int            `key:"max_trials" default:"10" min:"1"`
	Threshold      float64        `key:"threshold" default:"0.8"`
	Patience       int            `key:"patience" default:"3" min:"1"`
	MinImprovement float64        `key:"min_improvement" default:"0.01"`
	MaxIterations  int            `key:"max_iterations" default:"100" min:"1"`
	Initial        string         `key:"initial"`
	States         map[string]any `key:"states"`

	states map[string]*loopState
}

// loopState is a state of a state_machine loop.
type loopState struct {
	Prompt      string   `key:"prompt"`
	Tools       any      `key:"tools"` // nil means the node's
	Transitions []string `key:"transitions"`
	Terminal    bool     `key:"terminal"`

	name string
}

func readLoop(task *runner.Task) (*loopConfig, error) {
	var outer struct {
		Loop map[string]any `key:"loop"`
	}
	l := &loopConfig{}
	err := decode(task.Config, &outer)
	if err == nil {
		err = decode(outer.Loop, l)
	}
	switch {
	case err != nil:
		return nil, err
	case l.Pattern == "state_machine":
		l.FinishTool = "" // states end the loop
		return l, l.readStates(task)
	case l.Pattern == "finish_tool" && l.FinishTool == "":
		l.FinishTool = "finish"
	}
	return l, nil
}

// readStates reads the states of a state_machine and checks where they lead.
func (l *loopConfig) readStates(task *runner.Task) error {
	l.states = map[string]*loopState{}
	for name, given := range l.States {
		s := &loopState{name: name}
		declared, _ := given.(map[string]any)
		if err := decode(declared, s); err != nil {
			return err
		}
		s.Terminal = s.Terminal || len(s.Transitions) == 0
		l.states[name] = s
	}
	if l.Initial == "" {
		l.Initial = firstState(task)
	}
	switch {
	case len(l.states) == 0:
		return invalidInput("loop.states is empty; a state_machine needs states")
	case l.states[l.Initial] == nil:
		return invalidInput("loop.initial names no state: %q", l.Initial)
	}
	ends := false
	for _, name := range keys.Sorted(l.States) {
		ends = ends || l.states[name].Terminal
		for _, to := range l.states[name].Transitions {
			if l.states[to] == nil {
				return invalidInput("loop.states.%s leads to the unknown state %q", name, to)
			}
		}
	}
	if !ends {
		return invalidInput("loop.states has no terminal state; the loop would not end")
	}
	return nil
}

// firstState returns the first state in the file.
func firstState(task *runner.Task) string {
	if node := task.Graph.Node(lastPart(task.Node)); node != nil {
		if states := node.Field("loop").Get("states"); states != nil && states.Kind == spec.Map && len(states.Fields) > 0 {
			return states.Fields[0].Key.Value
		}
	}
	return ""
}
