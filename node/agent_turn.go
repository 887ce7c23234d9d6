// One turn of an agent: a call of the model and the tool calls that it asks
// for; and turns until there is an answer.

package node

import (
	"cmp"
	"context"
	"fmt"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
)

// callTries bounds the attempts of a call with transient failures: the runner does not
// repeat agents.
const callTries = 3

// answer lets the model take turns until read accepts its answer, or a tool of the loop ends
// them. The model is told why read refuses one. Without read only a tool ends the turns, of
// which next reminds the model.
func (a *agent) answer(ctx context.Context, next string, read func(*model.Response) (any, error)) (any, error) {
	for {
		response, err := a.turn(ctx)
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
		a.note(response, nil)
		if read == nil {
			a.ask(next)
			continue
		}
		value, problem := read(response)
		if problem == nil {
			a.reason, a.invalid = "answered", 0
			return value, nil
		}
		if err := a.refuse(response, problem); err != nil {
			return nil, err
		}
	}
}

// refuse asks for another answer, as often as the node allows.
func (a *agent) refuse(response *model.Response, problem error) error {
	if a.invalid++; a.invalid > a.node.Retries {
		return unfitFailure(response, a.invalid, problem)
	}
	a.ask(askAgain(problem))
	return nil
}

// turn makes one call of the model, if the loop may go on.
func (a *agent) turn(ctx context.Context) (*model.Response, error) {
	if err := a.mayGoOn(ctx); err != nil {
		return nil, err
	}
	a.turns++
	a.allTurns++
	req := a.base
	req.Messages, req.Tools = a.messages, a.tools
	s := &stream{task: a.task, thinking: a.kit.thinking}
	response, err := a.call(ctx, "chat", a.node.Named, req, s)
	if err != nil {
		return nil, err
	}
	s.end(response.Content)
	// A turn cut in the arguments of its calls goes on: the results say which arguments
	// can't be read.
	if response.Stop != model.StopLength || len(response.ToolCalls) == 0 {
		if err := a.node.ended(response); err != nil {
			return nil, err
		}
	}
	a.add(response.Message())
	a.text = cmp.Or(response.Content, a.text)
	return response, nil
}

// mayGoOn returns why no further turn begins.
func (a *agent) mayGoOn(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case a.turns >= a.loop.MaxTurns:
		return a.limitFailure("max_turns", "the agent gave no answer in %s", count(a.loop.MaxTurns, "turn"))
	case a.loop.MaxCost > 0 && a.spent >= a.loop.MaxCost:
		return a.limitFailure("max_cost_usd", "the agent spent $%g without an answer; loop.max_cost_usd is %g", a.spent, a.loop.MaxCost)
	case a.repeats >= a.loop.StuckAfter:
		return a.limitFailure("stuck", "the agent repeats itself: %s alike", count(a.repeats, "turn"))
	}
	return nil
}

// call calls a model and repeats transient failures.
func (a *agent) call(ctx context.Context, role, named string, req model.Request, s *stream) (response *model.Response, err error) {
	err = a.calls.retry(ctx, role, callTries, func() error {
		response, err = a.calls.call(ctx, role, named, req, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return response, a.addCost(named, response)
}

// addCost adds the price of a call to the loop's.
func (a *agent) addCost(named string, response *model.Response) error {
	if a.loop.MaxCost == 0 {
		return nil
	}
	ref, err := resolveModel(a.task, named)
	if err != nil {
		return err
	}
	cost, known := ref.prices().Cost(response.Usage)
	if !known {
		return invalidInput("loop.max_cost_usd can't be kept: the price of %q is not known", ref.name)
	}
	a.spent += cost
	return nil
}

// useTools makes the calls of a turn. done says that one ended the turns with a value.
func (a *agent) useTools(ctx context.Context, asked []model.ToolCall) (value any, done bool, err error) {
	answers := make([]answer, len(asked))
	var calls []toolCall
	var places []int // of calls in asked
	for i, c := range asked {
		if own, ours := a.own[c.Name]; ours {
			var taken any
			if taken, answers[i] = own.take(c); !answers[i].IsError {
				value, done = taken, true
			}
			continue
		}
		calls, places = append(calls, toolCall{
			ToolCall: c, number: a.toolCalls + i,
		}), append(places, i)
	}
	a.toolCalls += len(asked)
	results, err := a.kit.callAll(ctx, a.task, a.allowed, calls, false)
	if err != nil {
		return nil, false, err
	}
	for i, result := range results {
		answers[places[i]] = result
		if calls[i].Name == a.loop.FinishTool && !result.IsError {
			value, done = result.Output, true
		}
	}
	a.note(&model.Response{Content: a.messages[len(a.messages)-1].Content, ToolCalls: asked}, answers)
	for i, c := range asked {
		decl, _ := a.registry.Find(c.Name)
		m, err := resultMessage(a.task, c.ID, c.Name, maskSecrets(a.task, decl.Fit(answers[i].Output)), answers[i].IsError)
		if err != nil {
			return nil, false, err
		}
		a.add(m)
	}
	if done {
		a.reason = "finish_tool"
	}
	return value, done, nil
}

// finishTool returns the tool that ends the loop if the file declares none.
func (a *agent) finishTool() ownTool {
	var answer any = map[string]any{"type": "string"}
	doc := a.node.request.Schema
	if doc != nil {
		answer = doc
	}
	parameters := map[string]any{"type": "object", "required": []any{"answer"}, "properties": map[string]any{"answer": answer}}
	if doc["type"] == "object" {
		parameters = doc
	}
	return ownTool{model.Tool{Name: a.loop.FinishTool, Description: "Ends the work with the final answer.", Parameters: parameters}, a.finished}
}

// finished reads the answer in a call of the finish tool: its arguments, or the only one.
func (a *agent) finished(c model.ToolCall) (any, answer) {
	if c.Malformed != "" {
		return nil, answer{Output: "the arguments are not a JSON object", IsError: true}
	}
	var only any = ""
	for _, value := range c.Args {
		only = value
	}
	s := a.node.schema
	switch whole := s.Normalise(any(c.Args)); {
	case s != nil && s.Check(whole) == nil:
		return whole, answer{Output: "done"}
	case len(c.Args) > 1 && s == nil:
		return whole, answer{Output: "done"}
	case len(c.Args) <= 1 && s.Check(s.Normalise(only)) == nil:
		return s.Normalise(only), answer{Output: "done"}
	default:
		return nil, answer{Output: "the answer does not fit its schema: " + s.Check(whole).Error(), IsError: true}
	}
}

// note adds a turn to the partial result and compares it with the one before.
func (a *agent) note(response *model.Response, results []answer) {
	turn := map[string]any{"turn": a.allTurns, "content": response.Content}
	if len(response.ToolCalls) > 0 {
		list := make([]any, len(results))
		for i, c := range response.ToolCalls {
			list[i] = map[string]any{"name": c.Name, "args": c.Args, "output": short(results[i].Output), "is_error": results[i].IsError}
		}
		turn["tool_calls"] = list
	}
	a.trail = append(a.trail, turn)
	if a.task.Partial != nil {
		a.task.Partial(a.trail)
	}
	same := eval.Text(map[string]any{"content": turn["content"], "calls": turn["tool_calls"]})
	if same != a.last {
		a.last, a.repeats = same, 0
	}
	a.repeats++
}

// short returns a result, or the beginning of a long one.
func short(output any) any {
	output = eval.Brief(output)
	if text := eval.Text(output); len(text) > detailBytes {
		return headText([]byte(text), detailBytes) + "…"
	}
	return output
}

// count joins a number and its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
