// The kind agent: a model that works with tools in turns (GraphSpec §9).

package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
	"github.com/graphrun/graphrun/tool"
)

// runAgent runs the agent's loop and returns its final answer. The agent's turns enter the
// conversation if it succeeds, else the partial result.
func (k *toolkit) runAgent(ctx context.Context, task *runner.Task) (any, error) {
	a, err := k.prepareAgent(ctx, task)
	if err != nil {
		return nil, err
	}
	answer, err := a.runPattern(ctx)
	if handler.IsInterrupted(err) {
		return nil, err
	}
	if err != nil && ctx.Err() != nil {
		err = stoppedFailure(ctx, fmt.Sprintf("the agent was stopped in turn %d", a.allTurns))
	}
	if err != nil {
		a.reportEnd(failureReason(err))
		return nil, err
	}
	a.reportEnd(a.reason)
	if task.Talk != nil {
		task.Talk.AddMessages(a.said...)
	}
	return answer, nil
}

// agent is one run of an agent node. One goroutine owns it.
type agent struct {
	task  *runner.Task
	kit   *toolkit
	node  *modelNode
	loop  *loopConfig
	judge *judge
	calls *caller
	// base holds the parameters of each call, said the messages that the agent added.
	base     model.Request
	messages []model.Message
	said     []model.Message
	// tools are the current tools, allowed the names of declared ones, ownTools the loop's own.
	tools    []model.Tool
	allowed  []string
	ownTools map[string]ownTool
	registry *tool.Registry

	turns     int // in this trial or state
	allTurns  int
	toolCalls int
	rounds    int     // of the judge
	invalid   int     // consecutive answers that did not fit
	spent     float64 // US dollars
	text      string  // the last text of the model
	last      string  // the last turn, to detect a loop without progress
	repeats   int     // of the last turn
	trail     []any   // the turns, for the partial result
	trials    int
	score     float64 // of the best trial
	reason    string  // why the loop ended
}

func (k *toolkit) prepareAgent(ctx context.Context, task *runner.Task) (*agent, error) {
	n, err := readModelNode(ctx, k, task)
	if err != nil {
		return nil, err
	}
	a := &agent{task: task, kit: k, node: n, calls: newCaller(&k.models, task)}
	if a.loop, err = readLoop(task, n.decl); err != nil {
		return nil, err
	}
	if given, ok := task.Config["judge"].(map[string]any); ok {
		a.judge = &judge{}
		if err := decodeConfig(given, a.judge); err != nil {
			return nil, err
		}
	}
	if a.registry, err = k.openRegistry(task); err != nil {
		return nil, err
	}
	if a.loop.Pattern == "finish_tool" {
		n.finish = a.loop.FinishTool
	}
	req, said, err := n.composeRequest(ctx, a.calls)
	if err != nil {
		return nil, err
	}
	a.base, a.messages, a.said = req, req.Messages, said
	if n.finish != "" {
		a.base.Schema = nil // the finish tool has the schema as parameters
	}
	return a, a.setTools(ctx, n.Tools)
}

// ownTool is a tool of the loop itself. A call that take accepts ends the turns with a value.
type ownTool struct {
	model.Tool
	take func(model.ToolCall) (any, answer)
}

func (a *agent) setTools(ctx context.Context, names []string) error {
	finish := a.loop.FinishTool
	declared, _ := a.registry.FindTool(finish)
	if declared != nil && !slices.Contains(names, finish) {
		names = append(slices.Clone(names), finish)
	}
	a.allowed, a.tools, a.ownTools = names, nil, map[string]ownTool{}
	if len(names) > 0 {
		var err error
		if a.tools, err = a.kit.listOffered(ctx, a.task, names); err != nil {
			return err
		}
	}
	if finish != "" && declared == nil {
		a.addTool(a.newFinishTool())
	}
	return nil
}

func (a *agent) addTool(t ownTool) {
	a.ownTools[t.Name] = t
	a.tools = append(a.tools, t.Tool)
}

func (a *agent) runPattern(ctx context.Context) (any, error) {
	switch a.loop.Pattern {
	case "evaluator_optimizer":
		return a.runTrials(ctx)
	case "state_machine":
		return a.workUntilAccepted(ctx, a.runStates)
	}
	return a.workUntilAccepted(ctx, func(ctx context.Context) (any, error) {
		if a.node.finish != "" {
			return a.takeTurns(ctx, fmt.Sprintf("Go on. When you are done, call the tool %q.", a.node.finish), nil)
		}
		return a.takeTurns(ctx, "", a.node.readAnswer)
	})
}

func (a *agent) addQuestion(text string) {
	a.addMessage(model.Message{Role: model.User, Content: text})
}

func (a *agent) addMessage(m model.Message) {
	a.messages = append(a.messages, m)
	a.said = append(a.said, m)
}

// limitFailure returns the failure of a loop that reached a limit, with its name as the reason.
func (a *agent) limitFailure(reason, format string, args ...any) *runner.Failure {
	return &runner.Failure{Kind: "loop_limit", Message: fmt.Sprintf(format, args...), Details: map[string]any{
		"reason": reason, "turns": a.allTurns, "tool_calls": a.toolCalls,
	}}
}

// failureReason returns why the loop ended: a limit, or the kind of its failure.
func failureReason(err error) string {
	var failure *runner.Failure
	switch {
	case !errors.As(err, &failure):
		return "failed"
	case failure.Kind == "loop_limit":
		return eval.Text(failure.Details["reason"])
	}
	return failure.Kind
}

func (a *agent) reportEnd(reason string) {
	if a.task.SetReason != nil {
		a.task.SetReason(reason)
	}
	data := map[string]any{"pattern": a.loop.Pattern, "reason": reason, "turns": a.allTurns, "tool_calls": a.toolCalls}
	if a.judge != nil {
		data["judge_rounds"] = a.rounds
	}
	if a.trials > 0 {
		data["trials"], data["score"] = a.trials, a.score
	}
	emitSaid(a.task, runner.Said{Type: "custom", Name: "agent_ended", Data: data})
}

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

func readLoop(task *runner.Task, decl *spec.Node) (*loopConfig, error) {
	l := &loopConfig{}
	given, _ := task.Config["loop"].(map[string]any)
	switch err := decodeConfig(given, l); {
	case err != nil:
		return nil, err
	case l.Pattern == "state_machine":
		l.FinishTool = "" // states end the loop
		return l, l.readStates(decl)
	case l.Pattern == "finish_tool" && l.FinishTool == "":
		l.FinishTool = "finish"
	}
	return l, nil
}

func (l *loopConfig) readStates(decl *spec.Node) error {
	l.states = map[string]*loopState{}
	for name, given := range l.States {
		s := &loopState{name: name}
		declared, _ := given.(map[string]any)
		if err := decodeConfig(declared, s); err != nil {
			return err
		}
		s.Terminal = s.Terminal || len(s.Transitions) == 0
		l.states[name] = s
	}
	if states := decl.Field("loop").Get("states"); l.Initial == "" && states != nil && len(states.Fields) > 0 {
		l.Initial = states.Fields[0].Key.Value
	}
	switch {
	case len(l.states) == 0:
		return invalidInput("loop.states is empty; a state_machine needs states")
	case l.states[l.Initial] == nil:
		return invalidInput("loop.initial names no state: %q", l.Initial)
	}
	ends := false
	for _, name := range keys.Sorted(l.States) {
		state := l.states[name]
		ends = ends || state.Terminal
		if i := slices.IndexFunc(state.Transitions, func(to string) bool { return l.states[to] == nil }); i >= 0 {
			return invalidInput("loop.states.%s leads to the unknown state %q", name, state.Transitions[i])
		}
	}
	if !ends {
		return invalidInput("loop.states has no terminal state; the loop would not end")
	}
	return nil
}

// callTries bounds the attempts of a call in an agent or a decision: the runner repeats whole tasks.
const callTries = 3

// takeTurns lets the model take turns until read accepts its answer, or a tool of the loop ends them. If
// read is nil, only a tool ends the turns, and next is the message that reminds the model to call it.
func (a *agent) takeTurns(ctx context.Context, next string, read func(*model.Response) (any, error)) (any, error) {
	for {
		response, err := a.takeTurn(ctx)
		if err != nil {
			return nil, err
		}
		if len(response.ToolCalls) > 0 {
			value, done, err := a.useTools(ctx, response.ToolCalls)
			if err != nil || done {
				return value, err
			}
			continue
		}
		a.recordTurn(response, nil)
		if read == nil {
			a.addQuestion(next)
			continue
		}
		value, problem := read(response)
		if problem == nil {
			a.reason, a.invalid = "answered", 0
			return value, nil
		}
		if a.invalid++; a.invalid > a.node.Retries {
			return nil, invalidAnswerFailure(response, a.invalid, problem)
		}
		a.addQuestion(retryPrompt(problem))
	}
}

// takeTurn makes one model call, unless a limit is reached.
func (a *agent) takeTurn(ctx context.Context) (*model.Response, error) {
	if err := a.checkLimits(ctx); err != nil {
		return nil, err
	}
	a.turns++
	a.allTurns++
	req := a.base
	req.Messages, req.Tools = a.messages, a.tools
	s := &stream{task: a.task, thinking: a.kit.thinking}
	response, err := a.callModel(ctx, "chat", a.node.Named, req, s)
	if err != nil {
		return nil, err
	}
	s.endAnswer(response.Content)
	// An answer that was cut within its tool calls is accepted: the results say which
	// arguments can't be read.
	if response.Stop != model.StopLength || len(response.ToolCalls) == 0 {
		if err := checkEnding(a.node, response); err != nil {
			return nil, err
		}
	}
	a.addMessage(response.Message())
	a.text = cmp.Or(response.Content, a.text)
	return response, nil
}

// checkLimits returns an error if no further turn may begin.
func (a *agent) checkLimits(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case a.turns >= a.loop.MaxTurns:
		return a.limitFailure("max_turns", "the agent gave no answer in %s", eval.Count(a.loop.MaxTurns, "turn"))
	case a.loop.MaxCost > 0 && a.spent >= a.loop.MaxCost:
		return a.limitFailure("max_cost_usd", "the agent spent $%g without an answer; loop.max_cost_usd is %g", a.spent, a.loop.MaxCost)
	case a.repeats >= a.loop.StuckAfter:
		return a.limitFailure("stuck", "the agent repeats itself: %s alike", eval.Count(a.repeats, "turn"))
	}
	return nil
}

// callModel calls a model and repeats transient failures.
func (a *agent) callModel(ctx context.Context, role, named string, req model.Request, s *stream) (response *model.Response, err error) {
	err = a.calls.retryCall(ctx, role, callTries, func() error {
		response, err = a.calls.callModel(ctx, role, named, req, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return response, a.addCost(named, response)
}

func (a *agent) addCost(named string, response *model.Response) error {
	if a.loop.MaxCost == 0 {
		return nil
	}
	ref, err := resolveModel(a.task, named)
	if err != nil {
		return err
	}
	cost, known := ref.findPrices().Cost(response.Usage)
	if !known {
		return invalidInput("loop.max_cost_usd can't be kept: the price of %q is not known", ref.name)
	}
	a.spent += cost
	return nil
}

// useTools makes the tool calls of a turn. done means that one ended the turns with a value.
func (a *agent) useTools(ctx context.Context, asked []model.ToolCall) (value any, done bool, err error) {
	answers := make([]answer, len(asked))
	var calls []toolCall
	var indexes []int // of calls in asked
	for i, c := range asked {
		if own, ours := a.ownTools[c.Name]; ours {
			var taken any
			if taken, answers[i] = own.take(c); !answers[i].IsError {
				value, done = taken, true
			}
			continue
		}
		calls, indexes = append(calls, toolCall{ToolCall: c, number: a.toolCalls + i}), append(indexes, i)
	}
	a.toolCalls += len(asked)
	results, err := a.kit.callTools(ctx, a.task, a.allowed, calls, false)
	if err != nil {
		return nil, false, err
	}
	for i, result := range results {
		answers[indexes[i]] = result
		if calls[i].Name == a.loop.FinishTool && !result.IsError {
			value, done = result.Output, true
		}
	}
	a.recordTurn(&model.Response{Content: a.messages[len(a.messages)-1].Content, ToolCalls: asked}, answers)
	for i, c := range asked {
		decl, _ := a.registry.FindTool(c.Name)
		answers[i].Output = decl.CutResult(answers[i].Output)
		m, err := resultMessage(a.task, c, answers[i])
		if err != nil {
			return nil, false, err
		}
		a.addMessage(m)
	}
	if done {
		a.reason = "finish_tool"
	}
	return value, done, nil
}

// newFinishTool returns the built-in tool that ends the loop, unless the file declares one.
func (a *agent) newFinishTool() ownTool {
	var answer any = map[string]any{"type": "string"}
	doc := a.node.request.Schema
	if doc != nil {
		answer = doc
	}
	parameters := map[string]any{"type": "object", "required": []any{"answer"}, "properties": map[string]any{"answer": answer}}
	if doc["type"] == "object" {
		parameters = doc
	}
	return ownTool{model.Tool{Name: a.loop.FinishTool, Description: "Ends the work with the final answer.", Parameters: parameters}, a.readFinish}
}

// readFinish reads the answer from a call of the finish tool: all arguments, or else the only one.
func (a *agent) readFinish(c model.ToolCall) (any, answer) {
	if c.Malformed != "" {
		return nil, answer{Output: "the arguments are not a JSON object", IsError: true}
	}
	var only any = ""
	for _, value := range c.Args {
		only = value
	}
	s := a.node.schema
	switch whole := s.Normalise(any(c.Args)); {
	case s != nil && s.Check(whole) == nil, s == nil && len(c.Args) > 1:
		return whole, answer{Output: "done"}
	case len(c.Args) <= 1 && s.Check(s.Normalise(only)) == nil:
		return s.Normalise(only), answer{Output: "done"}
	default:
		return nil, answer{Output: "the answer does not fit its schema: " + s.Check(whole).Error(), IsError: true}
	}
}

// recordTurn adds a turn to the partial result and compares it with the one before.
func (a *agent) recordTurn(response *model.Response, results []answer) {
	turn := map[string]any{"turn": a.allTurns, "content": response.Content}
	if len(response.ToolCalls) > 0 {
		list := make([]any, len(results))
		for i, c := range response.ToolCalls {
			list[i] = map[string]any{"name": c.Name, "args": c.Args, "output": shortenResult(results[i].Output), "is_error": results[i].IsError}
		}
		turn["tool_calls"] = list
	}
	a.trail = append(a.trail, turn)
	if a.task.SavePartial != nil {
		a.task.SavePartial(a.trail)
	}
	same := eval.Text(map[string]any{"content": turn["content"], "calls": turn["tool_calls"]})
	if same != a.last {
		a.last, a.repeats = same, 0
	}
	a.repeats++
}

func shortenResult(output any) any {
	output = eval.ShortenURIs(output)
	if text := eval.Text(output); len(text) > detailBytes {
		return headText([]byte(text), detailBytes) + "…"
	}
	return output
}
