// The judge of an agent, and two patterns of its loop: trials that the judge scores, and
// states that lead to each other.

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
)

// judge is the key `judge` with its defaults.
type judge struct {
	Named     string   `key:"model" default:"judge"`
	Criteria  []string `key:"criteria"`
	MaxRounds int      `key:"max_rounds" default:"3" min:"1"`
	// IsBounded is not nil if the file sets max_rounds. Otherwise only max_trials bounds the trials.
	IsBounded any `key:"max_rounds"`
}

// verdict is the answer of a judge.
type verdict struct {
	Word     string   `key:"verdict"` // ACCEPT, RETRY, ESCALATE
	Feedback string   `key:"feedback"`
	Score    *float64 `key:"score"`
}

func (a *agent) workUntilAccepted(ctx context.Context, work func(context.Context) (any, error)) (any, error) {
	for {
		value, err := work(ctx)
		if err != nil || a.judge == nil {
			return value, err
		}
		v, err := a.askJudge(ctx, a.judge, value)
		if err != nil {
			return nil, err
		}
		a.reportVerdict(v)
		switch {
		case v.Word == "ACCEPT":
			a.reason = "accepted"
			return value, nil
		case v.Word == "ESCALATE":
			return nil, a.escalationFailure("the judge handed the matter over", v.Feedback, value)
		case a.rounds >= a.judge.MaxRounds:
			return nil, a.rejectedFailure(v.Feedback, value)
		}
		a.addQuestion("Your answer was not accepted." + feedbackText(v.Feedback) + " Answer again, and better.")
	}
}

// reportVerdict emits the verdict as an event and writes it to the log.
func (a *agent) reportVerdict(v verdict) {
	data := map[string]any{"verdict": v.Word, "feedback": v.Feedback, "round": a.rounds}
	if v.Score != nil {
		data["score"] = *v.Score
	}
	emitSaid(a.task, runner.Said{Type: "custom", Name: "judged", Data: data})
	if a.task.OpenLog != nil {
		log := a.task.OpenLog("judge", "text")
		_, _ = fmt.Fprintln(log, strings.TrimSuffix(v.Word+": "+v.Feedback, ": "))
		_ = log.Close()
	}
}

func feedbackText(feedback string) string {
	if feedback == "" {
		return ""
	}
	return " The judge says: " + feedback
}

func (a *agent) escalationFailure(why, feedback string, value any) *runner.Failure {
	return &runner.Failure{
		Kind: "escalated", Message: strings.TrimSuffix(why+": "+feedback, ": "),
		Details: map[string]any{"feedback": feedback, "answer": value, "rounds": a.rounds},
	}
}

func (a *agent) rejectedFailure(feedback string, value any) *runner.Failure {
	return a.escalationFailure(fmt.Sprintf("the judge accepted no answer in %s", eval.Count(a.rounds, "round")), feedback, value)
}

// askJudge asks the judge about an answer. If the judge fails, the failure is an
// escalation, unless the task was cancelled or the budget is spent.
func (a *agent) askJudge(ctx context.Context, j *judge, value any) (verdict, error) {
	response, err := a.callModel(ctx, "judge", j.Named, a.judgeRequest(j, value), nil)
	var failure *runner.Failure
	switch {
	case ctx.Err() != nil:
		return verdict{}, ctx.Err()
	case errors.As(err, &failure) && failure.Kind == "budget":
		return verdict{}, err
	case err != nil:
		return verdict{}, a.escalationFailure("the judge failed", err.Error(), value)
	}
	var v verdict
	if err = checkEnding(nil, response); err == nil {
		v, err = readVerdict(response)
	}
	if err != nil {
		return v, a.escalationFailure("the judge gave no verdict", err.Error(), value)
	}
	a.rounds++
	return v, nil
}

func verdictSchema() map[string]any {
	return closedSchema(map[string]any{
		"verdict":  map[string]any{"type": "string", "enum": []any{"ACCEPT", "RETRY", "ESCALATE"}},
		"feedback": map[string]any{"type": "string"},
		"score":    map[string]any{"type": "number", "minimum": 0, "maximum": 1},
	}, "verdict", "feedback", "score")
}

// readVerdict reads a judge's answer, in which feedback and score are optional.
func readVerdict(response *model.Response) (verdict, error) {
	if word := strings.TrimSpace(response.Content); slices.Contains([]string{"ACCEPT", "RETRY", "ESCALATE"}, word) {
		return verdict{Word: word}, nil
	}
	value, err := newAnswerReader(relaxRequired(verdictSchema(), "verdict"))(response)
	if err != nil {
		return verdict{}, err
	}
	fields, _ := value.(map[string]any)
	var v verdict
	err = decodeConfig(fields, &v)
	return v, err
}

func (a *agent) judgeRequest(j *judge, value any) model.Request {
	var b strings.Builder
	if a.node.Instructions != "" {
		fmt.Fprintf(&b, "The instructions were:\n%s\n\n", a.node.Instructions)
	}
	if a.node.prompt.text != "" {
		fmt.Fprintf(&b, "The task was:\n%s\n\n", a.node.prompt.text)
	}
	if a.toolCalls > 0 {
		b.WriteString("Tools that were called:\n")
		for _, entry := range a.trail {
			turn, _ := entry.(map[string]any)
			calls, _ := turn["tool_calls"].([]any)
			for _, call := range calls {
				fmt.Fprintf(&b, "- %s\n", eval.Shorten(eval.Text(call), 400))
			}
		}
		b.WriteByte('\n')
	}
	answer, err := readResultContent(a.node.task, value)
	if err != nil { // an unreadable part
		answer = content{text: eval.Text(eval.ShortenURIs(value))}
	}
	fmt.Fprintf(&b, "The answer to judge:\n%s", answer.text)
	var shown content // images and other parts of the task and the answer
	for _, part := range slices.Concat(a.node.prompt.parts, answer.parts) {
		if part.Kind != model.TextPart {
			shown.parts = append(shown.parts, part)
		}
	}
	criteria := "The answer must do what the task asks for."
	if len(j.Criteria) > 0 {
		criteria = "The answer must meet these criteria:\n- " + strings.Join(j.Criteria, "\n- ")
	}
	return model.Request{
		System: joinLayers([]string{
			goalText(a.task), "You judge the work of another model. " + criteria,
			`Answer with one JSON object {"verdict": …, "feedback": …, "score": …}, and with nothing else. The verdict is ACCEPT if the criteria are met, RETRY if another attempt can meet them (the feedback says what to change), ESCALATE if a person has to decide. The score tells from 0 to 1 how good the answer is.`,
		}),
		Messages: []model.Message{shown.withText(b.String()).newMessage(model.User)},
		Schema:   verdictSchema(),
	}
}

// runTrials makes trials until one is good enough or they stop improving, and returns the best.
func (a *agent) runTrials(ctx context.Context) (any, error) {
	j := a.judge
	if j == nil {
		j = &judge{Named: "judge"}
	}
	var best any
	bestScore, since := -1.0, 0 // trials since the last better score
	for a.trials = 1; ; a.trials++ {
		a.turns = 0
		value, err := a.takeTurns(ctx, "", a.node.readAnswer)
		if err != nil {
			return nil, err
		}
		v, err := a.askJudge(ctx, j, value)
		if err != nil {
			return nil, err
		}
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
			return nil, a.rejectedFailure(v.Feedback, best)
		}
		a.repeats = 0
		a.addQuestion(fmt.Sprintf("That was trial %d; it scored %g, the best so far %g.%s Think about what to change, and answer again.",
			a.trials, score, bestScore, feedbackText(v.Feedback)))
	}
}

// stopReason returns why no further trial begins, or "" if one does.
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

// transitionTool is the tool with which a model chooses the next state.
const transitionTool = "transition"

func (a *agent) runStates(ctx context.Context) (any, error) {
	schema := a.base.Schema
	defer func() { a.base.Schema = schema }()
	a.text = ""
	name := a.loop.Initial
	for i := 0; ; i++ {
		if i >= a.loop.MaxIterations {
			return nil, a.limitFailure("max_iterations", "the agent reached no terminal state in %s", eval.Count(i, "state"))
		}
		state := a.loop.states[name]
		if state.Terminal && state.Prompt == "" && i > 0 {
			value, err := a.node.readAnswer(&model.Response{Content: a.text})
			if err != nil {
				return nil, newFailure("invalid_output", "the last answer of the agent does not fit: %v", err)
			}
			a.reason = "terminal_state"
			return value, nil
		}
		if err := a.enterState(ctx, state); err != nil {
			return nil, err
		}
		if state.Terminal {
			a.base.Schema = schema
			value, err := a.takeTurns(ctx, "", a.node.readAnswer)
			a.reason = "terminal_state"
			return value, err
		}
		a.base.Schema = nil
		var err error
		if name, err = a.leaveState(ctx, state); err != nil {
			return nil, err
		}
	}
}

func (a *agent) enterState(ctx context.Context, s *loopState) error {
	a.turns, a.repeats = 0, 0
	names := a.node.Tools
	if s.Tools != nil {
		names = keys.Texts(s.Tools)
	}
	if err := a.setTools(ctx, names); err != nil {
		return err
	}
	text := fmt.Sprintf("[State %q.]", s.name)
	if s.Prompt != "" {
		text += " " + s.Prompt
	}
	if !s.Terminal && len(s.Transitions) > 1 {
		a.addTool(newTransitionTool(s))
		text += fmt.Sprintf("\nWhen this state is done, call the tool %q with the state that follows: %s.", transitionTool, strings.Join(s.Transitions, ", "))
	}
	a.addQuestion(text)
	return nil
}

func newTransitionTool(s *loopState) ownTool {
	return ownTool{
		Tool: model.Tool{Name: transitionTool, Description: "Goes on to another state.", Parameters: closedSchema(
			map[string]any{"to": map[string]any{"type": "string", "enum": toAnyList(s.Transitions)}}, "to",
		)},
		take: func(c model.ToolCall) (any, answer) {
			name, _ := c.Args["to"].(string)
			if !slices.Contains(s.Transitions, name) {
				return nil, answer{Output: fmt.Sprintf("%q does not follow %q; allowed are %s", name, s.name, strings.Join(s.Transitions, ", ")), IsError: true}
			}
			return name, answer{Output: "the state is now " + name}
		},
	}
}

func (a *agent) leaveState(ctx context.Context, s *loopState) (string, error) {
	if len(s.Transitions) == 1 {
		_, err := a.takeTurns(ctx, "", func(response *model.Response) (any, error) { return response.Content, nil })
		return s.Transitions[0], err
	}
	next, err := a.takeTurns(ctx, fmt.Sprintf("Go on, or call the tool %q with the state that follows: %s.", transitionTool, strings.Join(s.Transitions, ", ")), nil)
	return eval.Text(next), err
}
