// One model call: within the budget, journaled before anything else happens,
// and never paid for twice.

package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

// caller makes the model calls of one task. It is for one goroutine.
type caller struct {
	models *models
	task   *runner.Task
	// turns counts the visit's calls, by role, those of earlier attempts too.
	turns map[string]int
}

func newCaller(m *models, task *runner.Task) *caller {
	turns := map[string]int{}
	if task.Models != nil {
		maps.Copy(turns, task.Models.Turns)
	}
	return &caller{models: m, task: task, turns: turns}
}

// noteCall marks the notes of finished model calls in a task's log.
const noteCall = "model_call"

// call asks the model that `named` stands for, in a role: chat, router, judge
// or compact. A call that had finished before a crash is answered from the
// task's log. onText gets the text as it comes; nil: nobody wants it. The error
// is a *runner.Failure, or the context's.
func (c *caller) call(ctx context.Context, role, named string, req model.Request, onText func(string)) (*model.Response, error) {
	ref, client, err := c.models.ask(ctx, c.task, named)
	if err != nil {
		return nil, err
	}
	c.turns[role]++
	req.Caller = model.Caller{Node: c.task.Node, Place: placeOf(c.task), Role: role, Visit: c.task.Visit, Turn: c.turns[role]}
	req.Messages = model.Paired(req.Messages)
	key, size := requestKey(ref, &req), price.RequestTokens(&req)
	if response, err, found := c.logged(key); found {
		if err == nil && onText != nil && response.Content != "" {
			onText(response.Content)
		}
		return response, err
	}
	if client == nil {
		if client, err = c.models.open(c.task, ref); err != nil {
			return nil, modelFailure(err)
		}
	}
	hooked := modelHooks{c.task, &req, ref.name}
	if size, err = hooked.before(ctx, size); err != nil {
		return nil, err
	}
	prices := ref.prices()
	if err := fits(ref, &req, size, price.Of(ref.priced())); err != nil {
		return nil, err
	}
	room, err := c.task.Models.Reserve(handler.Reservation{
		Input: size, Output: req.MaxTokens,
		Cost: prices.Worst,
	})
	if err != nil {
		return nil, err
	}
	req.MaxTokens = room.Output
	thoughts := &thoughts{task: c.task}
	if c.models.thinking && c.task.Emit != nil && onText != nil {
		req.OnThinking = thoughts.hear
	}
	heard := &hearing{onText: onText, begins: thoughts.end}
	began := now(c.task)
	response, err := client.Chat(ctx, &req, heard.listener())
	took := now(c.task).Sub(began)
	thoughts.end()
	var failed *model.Error
	if errors.As(err, &failed) && failed.Unsent { // there was no call
		c.turns[role]--
		room.Settle(handler.Usage{})
		hooked.after(ctx, nil, modelFailure(err))
		return nil, modelFailure(err)
	}
	tokens, estimated := came(ref, size, response, err, heard.text.String())
	if response != nil {
		response.Usage = tokens
	}
	usage := c.usage(ref, &req, tokens, estimated)
	usage.DurationMS = new(took.Milliseconds())
	room.Settle(usage)
	if failure := modelFailure(err); failure != nil && ctx.Err() == nil && heard.text.Len() > 0 {
		c.broken()
	}
	hooked.after(ctx, response, modelFailure(err))
	return c.finished(key, response, err, usage)
}

// broken tells that the text which was streamed is none of the answer.
func (c *caller) broken() {
	if c.task.Emit != nil {
		c.task.Emit(runner.Said{Type: "text", Broken: true})
	}
}

// again tells that a call is made once more, and waits until then.
func (c *caller) again(ctx context.Context, role string, try, tries int, failure *runner.Failure) error {
	delay := backoff(try, failure)
	if c.task.Emit != nil {
		own := *failure
		own.Node, own.Attempt = c.task.Node, try
		c.task.Emit(runner.Said{Type: "retrying", Retry: &handler.Retry{What: role, Attempt: try, MaxAttempts: tries, Delay: delay, Error: &own}})
	}
	return c.task.Models.Sleep(ctx, delay)
}

// thoughts passes on what a model thinks, line by line: so a secret is seen whole by
// what masks it.
type thoughts struct {
	task *runner.Task
	line strings.Builder
}

func (t *thoughts) hear(chunk string) {
	t.line.WriteString(chunk)
	text := t.line.String()
	if end := strings.LastIndexByte(text, '\n') + 1; end > 0 {
		t.task.Emit(runner.Said{Type: "thinking", Text: text[:end]})
		t.line.Reset()
		t.line.WriteString(text[end:])
	}
}

func (t *thoughts) end() {
	if t.line.Len() > 0 {
		t.task.Emit(runner.Said{Type: "thinking", Text: t.line.String() + "\n"})
		t.line.Reset()
	}
}

// hearing notes what a call says while it is going on.
type hearing struct {
	onText func(string)
	begins func() // what is said comes after what was thought
	text   strings.Builder
}

// listener is nil when nobody wants the text: then the answer need not stream.
func (h *hearing) listener() func(string) {
	if h.onText == nil {
		return nil
	}
	return func(chunk string) {
		h.begins()
		h.text.WriteString(chunk)
		h.onText(chunk)
	}
}

// fits refuses a call that its model can't take, where that is known, before anything
// is paid for. What is sent is an estimate, so only what is beyond doubt is refused.
func fits(ref modelRef, req *model.Request, tokens int, known price.Prices) error {
	if longest := known.MaxOutput(); longest > 0 && req.MaxTokens > longest {
		return invalidInput("max_tokens is %d; %s answers with at most %d tokens", req.MaxTokens, ref.name, longest)
	}
	if window := known.Window(); window > 0 {
		if tokens > 2*window {
			return &runner.Failure{
				Kind: "invalid_input", Details: map[string]any{"class": "context_length"},
				Message: fmt.Sprintf("the conversation has about %d tokens; %s holds %d: compaction or conversation: isolated makes it shorter", tokens, ref.name, window),
			}
		}
	}
	return nil
}

// requestKey identifies a call among those of its task.
func requestKey(ref modelRef, req *model.Request) string {
	text, err := json.Marshal([]any{ref.name, req})
	if err != nil { // arguments that JSON can't express
		text = fmt.Appendf(nil, "%v", *req)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// placeOf is the place of a task, "" where it says no more than the node.
func placeOf(task *runner.Task) string {
	if task.Place == task.Node {
		return ""
	}
	return task.Place
}

// finished journals a call that has ended, however it did. One that was
// cancelled is counted, but not kept: it is made again.
func (c *caller) finished(key string, response *model.Response, err error, usage handler.Usage) (*model.Response, error) {
	var failed *model.Error
	var note map[string]any
	switch {
	case err == nil:
		note = map[string]any{"key": key, "response": response}
	case errors.As(err, &failed):
		note = map[string]any{"key": key, "error": failed}
	default:
		usage.Cut = true
		_ = c.task.Models.Note(nil, usage) // the task ends anyway
		return nil, err
	}
	if kept := c.task.Models.Note(map[string]any{noteCall: note}, usage); kept != nil {
		return nil, kept
	}
	return response, modelFailure(err)
}

// logged is what a call came to before a crash.
func (c *caller) logged(key string) (response *model.Response, err error, found bool) {
	for _, entry := range c.task.Log {
		fields, _ := entry.(map[string]any)
		note, _ := fields[noteCall].(map[string]any)
		if note["key"] != key {
			continue
		}
		if failed, ok := note["error"]; ok {
			out := &model.Error{}
			if err := reread(failed, out); err != nil {
				return nil, nil, false
			}
			return nil, modelFailure(out), true
		}
		out := &model.Response{}
		if err := reread(note["response"], out); err != nil {
			return nil, nil, false
		}
		return out, nil, true
	}
	return nil, nil, false
}

// reread turns plain data into what it was.
func reread(data, into any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return err
	}
	if response, ok := into.(*model.Response); ok {
		for i := range response.ToolCalls {
			args, err := eval.Canonical(response.ToolCalls[i].Args)
			if err != nil {
				return err
			}
			response.ToolCalls[i].Args, _ = args.(map[string]any)
		}
	}
	return nil
}

// backoff is the delay before the next try of a call that nobody else repeats.
func backoff(attempt int, failure *runner.Failure) time.Duration {
	asked := time.Duration(failure.RetryAfter) * time.Millisecond
	return max(time.Second<<(attempt-1), min(asked, handler.MaxAskedDelay))
}
