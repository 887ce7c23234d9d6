// Two patterns of an agent's loop: trials that a judge scores, and states that
// lead to each other.

package node

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
)

// optimise makes trials until one is good enough or they stop improving, and returns the
// best.
func (a *agent) optimise(ctx context.Context) (any, error) {
	j := a.judge
	if j == nil {
		j = &judge{Named: "judge"}
	}
	var best any
	bestScore, since := -1.0, 0 // trials since the last better score
	for a.trials = 1; ; a.trials++ {
		a.turns = 0
		value, err := a.answer(ctx, "", a.node.read)
		if err != nil {
			return nil, err
		}
		v, err := a.verdict(ctx, j, value)
		if err != nil {
			return nil, err
		}
		a.rounds++
		if v.Word == "ESCALATE" {
			return nil, a.escalationFailure("the judge handed the matter over", v.Feedback, value)
		}
		score := 0.0
		switch {
		case v.Score != nil:
			score = *v.Score
		case v.Word == "ACCEPT":
			score = 1
		}
		since++
		if score >= bestScore+a.loop.MinImprovement {
			since = 0
		}
		if score > bestScore || v.Word == "ACCEPT" {
			best, bestScore, a.score = value, score, score
		}
		if a.reason = a.stopReason(v.Word, score, since); a.reason != "" {
			return best, nil
		}
		if j.IsBounded != nil && a.rounds >= j.MaxRounds {
			return nil, a.unacceptedFailure(v.Feedback, best)
		}
		a.repeats = 0
		a.ask(fmt.Sprintf("That was trial %d; it scored %g, the best so far %g.%s Think about what to change, and answer again.",
			a.trials, score, bestScore, judgeSays(v.Feedback)))
	}
}

// stopReason returns why no further trial begins, or "".
func (a *agent) stopReason(word string, score float64, since int) string {
	switch {
	case word == "ACCEPT":
		return "accepted"
	case score >= a.loop.Threshold:
		return "threshold"
	case a.trials >= a.loop.MaxTrials:
		return "max_trials"
	case since >= a.loop.Patience:
		return "no_improvement"
	}
	return ""
}

// transitionTool lets a model choose the next state.
const transitionTool = "transition"

// walk goes from state to state to a terminal one.
func (a *agent) walk(ctx context.Context) (any, error) {
	schema := a.base.Schema
	defer func() { a.base.Schema = schema }()
	a.text = ""
	name := a.loop.Initial
	for i := 0; ; i++ {
		if i >= a.loop.MaxIterations {
			return nil, a.limitFailure("max_iterations", "the agent reached no terminal state in %s", count(i, "state"))
		}
		state := a.loop.states[name]
		if state.Terminal && state.Prompt == "" && i > 0 {
			return a.readFinal()
		}
		if err := a.enter(ctx, state); err != nil {
			return nil, err
		}
		if state.Terminal {
			a.base.Schema = schema
			value, err := a.answer(ctx, "", a.node.read)
			a.reason = "terminal_state"
			return value, err
		}
		a.base.Schema = nil
		var err error
		if name, err = a.leave(ctx, state); err != nil {
			return nil, err
		}
	}
}

// readFinal reads the last text as the node's value.
func (a *agent) readFinal() (any, error) {
	value, err := a.node.read(&model.Response{Content: a.text})
	if err != nil {
		return nil, &runner.Failure{Kind: "invalid_output", Message: "the last answer of the agent does not fit: " + err.Error()}
	}
	a.reason = "terminal_state"
	return value, nil
}

// enter describes a state to the model and offers its tools.
func (a *agent) enter(ctx context.Context, s *loopState) error {
	a.turns, a.repeats = 0, 0
	names := a.node.Tools
	if s.Tools != nil {
		names = keys.Texts(s.Tools)
	}
	if err := a.offer(ctx, names); err != nil {
		return err
	}
	text := fmt.Sprintf("[State %q.]", s.name)
	if s.Prompt != "" {
		text += " " + s.Prompt
	}
	if !s.Terminal && len(s.Transitions) > 1 {
		a.provide(transition(s))
		text += fmt.Sprintf("\nWhen this state is done, call the tool %q with the state that follows: %s.", transitionTool, strings.Join(s.Transitions, ", "))
	}
	a.ask(text)
	return nil
}

// transition returns the tool that leaves a state.
func transition(s *loopState) ownTool {
	to := make([]any, len(s.Transitions))
	for i, name := range s.Transitions {
		to[i] = name
	}
	return ownTool{
		Tool: model.Tool{Name: transitionTool, Description: "Goes on to another state.", Parameters: map[string]any{
			"type": "object", "required": []any{"to"}, "additionalProperties": false,
			"properties": map[string]any{"to": map[string]any{"type": "string", "enum": to}},
		}},
		take: func(c model.ToolCall) (any, answer) {
			name, _ := c.Args["to"].(string)
			if !slices.Contains(s.Transitions, name) {
				return nil, answer{Output: fmt.Sprintf("%q does not follow %q; allowed are %s", name, s.name, strings.Join(s.Transitions, ", ")), IsError: true}
			}
			return name, answer{Output: "the state is now " + name}
		},
	}
}

// leave lets the model work in a state and returns the next one.
func (a *agent) leave(ctx context.Context, s *loopState) (string, error) {
	if len(s.Transitions) == 1 {
		_, err := a.answer(ctx, "", func(response *model.Response) (any, error) { return response.Content, nil })
		return s.Transitions[0], err
	}
	next, err := a.answer(ctx, fmt.Sprintf("Go on, or call the tool %q with the state that follows: %s.", transitionTool, strings.Join(s.Transitions, ", ")), nil)
	return eval.Text(next), err
}
