// The keys of an agent's loop.

package node

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// loopConfig is the key `loop`, defaults filled in.
type loopConfig struct {
	pattern        string
	maxTurns       int
	stuckAfter     int
	maxCost        float64 // US dollars; 0: none
	finishTool     string
	maxTrials      int
	threshold      float64
	patience       int
	minImprovement float64
	maxIterations  int
	initial        string
	states         map[string]*loopState
}

// loopState is a state of a state_machine loop.
type loopState struct {
	name        string
	prompt      string
	tools       []string
	hasTools    bool
	transitions []string
	terminal    bool
}

// readLoop reads the key `loop`.
func readLoop(task *runner.Task) (*loopConfig, error) {
	fields, err := mapKey(task.Config, "loop")
	if err != nil {
		return nil, err
	}
	l := &loopConfig{}
	if l.pattern, err = textKey(fields, "pattern", "turn_limited"); err != nil {
		return nil, err
	}
	for _, key := range []struct {
		name     string
		into     *int
		fallback int
	}{
		{"max_turns", &l.maxTurns, 10},
		{"stuck_after", &l.stuckAfter, 3},
		{"max_trials", &l.maxTrials, 10},
		{"patience", &l.patience, 3},
		{"max_iterations", &l.maxIterations, 100},
	} {
		if *key.into, err = intKey(fields, key.name, key.fallback, 1); err != nil {
			return nil, err
		}
	}
	for _, key := range []struct {
		name     string
		into     *float64
		fallback float64
	}{
		{"max_cost_usd", &l.maxCost, 0}, {"threshold", &l.threshold, 0.8}, {"min_improvement", &l.minImprovement, 0.01},
	} {
		if *key.into, err = numberKey(fields, key.name, key.fallback); err != nil {
			return nil, err
		}
	}
	if l.finishTool, err = textKey(fields, "finish_tool", ""); err != nil {
		return nil, err
	}
	if l.finishTool == "" && l.pattern == "finish_tool" {
		l.finishTool = "finish"
	}
	if l.pattern != "state_machine" {
		return l, nil
	}
	l.finishTool = "" // states end the loop
	return l, l.readStates(task, fields)
}

// readStates reads the states of a state_machine and checks that they lead to
// each other.
func (l *loopConfig) readStates(task *runner.Task, fields map[string]any) error {
	declared, err := mapKey(fields, "states")
	if err != nil {
		return err
	}
	l.states = map[string]*loopState{}
	for _, name := range sortedNames(declared) {
		state, _ := declared[name].(map[string]any)
		s := &loopState{name: name}
		if s.prompt, err = textKey(state, "prompt", ""); err != nil {
			return err
		}
		if list, ok := state["tools"].([]any); ok {
			s.tools, s.hasTools = texts(list), true
		}
		list, _ := state["transitions"].([]any)
		s.transitions = texts(list)
		terminal, _ := state["terminal"].(bool)
		s.terminal = terminal || len(s.transitions) == 0
		l.states[name] = s
	}
	if l.initial, err = textKey(fields, "initial", firstState(task)); err != nil {
		return err
	}
	return l.checkStates()
}

func (l *loopConfig) checkStates() error {
	if len(l.states) == 0 {
		return invalidInput("loop.states is empty; a state_machine needs states")
	}
	if l.states[l.initial] == nil {
		return invalidInput("loop.initial names no state: %q", l.initial)
	}
	terminal := false
	for _, name := range slices.Sorted(maps.Keys(l.states)) {
		terminal = terminal || l.states[name].terminal
		for _, to := range l.states[name].transitions {
			if l.states[to] == nil {
				return invalidInput("loop.states.%s leads to %q, which is no state", name, to)
			}
		}
	}
	if !terminal {
		return invalidInput("loop.states has no terminal state; the loop would not end")
	}
	return nil
}

// firstState is the state that the file declares first.
func firstState(task *runner.Task) string {
	node := task.Graph.Node(lastPart(task.Node))
	if node == nil {
		return ""
	}
	states := node.Field("loop").Get("states")
	if states == nil || states.Kind != spec.Map || len(states.Fields) == 0 {
		return ""
	}
	return states.Fields[0].Key.Value
}

// numberKey reads a number; absent and null give fallback.
func numberKey(config map[string]any, key string, fallback float64) (float64, error) {
	switch v := config[key].(type) {
	case nil:
		return fallback, nil
	case int:
		return float64(v), nil
	case float64:
		return v, nil
	default:
		return 0, invalidInput("%q is %s; a number is wanted", key, preview(v))
	}
}
