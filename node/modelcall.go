// One model call with its hooks, within the budget, journaled, and never paid for twice.

package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

// caller makes the model calls of one task. It belongs to one goroutine.
type caller struct {
	models *models
	task   *runner.Task
	// turns counts the calls of all attempts of the visit, by role.
	turns map[string]int
}

func newCaller(m *models, task *runner.Task) *caller {
	turns := map[string]int{}
	if task.Models != nil {
		maps.Copy(turns, task.Models.Turns)
	}
	return &caller{models: m, task: task, turns: turns}
}

// noteCall is the key of finished model calls in a task's log.
const noteCall = "model_call"

// callNote is a finished call: its response or its error.
type callNote struct {
	Key      string          `json:"key"`
	Response *model.Response `json:"response,omitempty"`
	Error    *model.Error    `json:"error,omitempty"`
}

// callModel calls a model in a role: chat, router, judge or compact. It takes the results of calls that
// finished before a crash from the task's log. The error is a *runner.Failure or the context's.
func (c *caller) callModel(ctx context.Context, role, named string, req model.Request, s *stream) (*model.Response, error) {
	ref, client, err := c.models.resolveOrReplace(ctx, c.task, named)
	if err != nil {
		return nil, err
	}
	c.turns[role]++
	req.Caller = identifyCaller(c.task, role, c.turns[role])
	req.Messages = model.PairResults(req.Messages)
	key := requestKey(ref, &req)
	if response, err, found := c.findLogged(key); found {
		if err == nil && s != nil && response.Content != "" {
			s.addText(response.Content)
		}
		return response, err
	}
	if client == nil {
		if client, err = c.models.openModel(c.task, ref); err != nil {
			return nil, modelFailure(err)
		}
	}
	if err = runBeforeModel(ctx, c.task, ref.name, &req); err != nil {
		return nil, err
	}
	size := price.EstimateRequestTokens(&req)
	if err := checkSize(ref, &req, size, price.Of(ref.priceName()).BaseRates()); err != nil {
		return nil, err
	}
	oneToken, known := ref.findPrices().MaxCost(size, 1) // 1, because 0 would mean the model's default
	twoTokens, _ := ref.findPrices().MaxCost(size, 2)
	reservation, err := c.task.Models.Reserve(handler.Reservation{
		Input: size, Output: req.MaxTokens, Known: known, Base: 2*oneToken - twoTokens, Each: twoTokens - oneToken,
	})
	if err != nil {
		return nil, err
	}
	req.MaxTokens = reservation.Output
	began := currentTime(c.task)
	response, err := client.Chat(ctx, &req, s.beginCall(&req))
	took := currentTime(c.task).Sub(began)
	streamed := s.endCall()
	if failed, ok := errors.AsType[*model.Error](err); ok && failed.Unsent {
		c.turns[role]--
		reservation.Settle(handler.Usage{})
		runAfterModel(ctx, c.task, ref.name, &req, nil, modelFailure(err))
		return nil, modelFailure(err)
	}
	tokens, estimated := countTokens(ref, size, response, err, streamed)
	if response != nil {
		response.Usage = tokens
		for i := range response.ToolCalls { // a Go program's own client may return other types
			call := &response.ToolCalls[i]
			args, err := eval.Canonical(call.Args)
			if call.Args, _ = args.(map[string]any); err != nil {
				call.Malformed = err.Error()
			}
		}
	}
	usage := c.newUsage(ref, &req, tokens, estimated)
	usage.DurationMS = new(took.Milliseconds())
	reservation.Settle(usage)
	if err != nil && ctx.Err() == nil && streamed != "" {
		s.retractText()
	}
	runAfterModel(ctx, c.task, ref.name, &req, response, modelFailure(err))
	return c.journalResult(key, response, err, usage)
}

// retryCall repeats a call until it succeeds, its failure is not transient, or all tries are used.
func (c *caller) retryCall(ctx context.Context, role string, tries int, call func() error) error {
	transient := []string{"rate_limited", "network", "overloaded", "timeout"}
	for try := 1; ; try++ {
		err := call()
		var failure *runner.Failure
		if !errors.As(err, &failure) || failure.IsFinal() || !slices.Contains(transient, failure.Kind) || try >= tries {
			return err
		}
		asked := time.Duration(failure.RetryAfter) * time.Millisecond
		delay := max(time.Second<<(try-1), min(asked, handler.MaxAskedDelay))
		own := *failure
		own.Node, own.Attempt = c.task.Node, try
		emitSaid(c.task, runner.Said{Type: "retrying", Retry: &handler.Retry{What: role, Attempt: try, MaxAttempts: tries, Delay: delay, Error: &own}})
		if err := c.task.Models.Sleep(ctx, delay); err != nil {
			return err
		}
	}
}

// stream emits the text and the thoughts of calls as they come. A nil stream emits nothing.
type stream struct {
	task     *runner.Task
	thinking bool // emit thoughts
	some     bool // text was emitted
	text     strings.Builder
	thought  strings.Builder // a line without its end
}

// beginCall returns the function that receives the text of a call, and sets the one for thoughts.
func (s *stream) beginCall(req *model.Request) (onText func(string)) {
	if s == nil {
		return nil
	}
	s.text.Reset()
	if s.thinking && s.task.Emit != nil {
		req.OnThinking = s.addThought
	}
	return s.addText
}

func (s *stream) addText(chunk string) {
	s.endThought()
	s.text.WriteString(chunk)
	s.some = true
	emitSaid(s.task, runner.Said{Type: "text", Text: chunk})
}

// addThought emits thoughts line by line, so that secrets in them can be masked.
func (s *stream) addThought(chunk string) {
	s.thought.WriteString(chunk)
	text := s.thought.String()
	if end := strings.LastIndexByte(text, '\n') + 1; end > 0 {
		s.task.Emit(runner.Said{Type: "thinking", Text: text[:end]})
		s.thought.Reset()
		s.thought.WriteString(text[end:])
	}
}

func (s *stream) endThought() {
	if s.thought.Len() > 0 {
		s.addThought("\n")
	}
}

func (s *stream) endCall() string {
	if s == nil {
		return ""
	}
	s.endThought()
	return s.text.String()
}

// retractText emits that the text so far is not part of the answer.
func (s *stream) retractText() {
	if s != nil {
		emitSaid(s.task, runner.Said{Type: "text", Broken: true})
	}
}

// endAnswer emits the end of an answer, with its text if that did not stream.
func (s *stream) endAnswer(whole string) {
	if s.some {
		whole = ""
	}
	emitSaid(s.task, runner.Said{Type: "text", Text: whole, Final: true})
}

// checkSize returns an error for a call that is too large for its model. tokens is an estimate.
func checkSize(ref modelRef, req *model.Request, tokens int, known price.Rates) error {
	if longest := known.MaxOutput; longest > 0 && req.MaxTokens > longest {
		return invalidInput("max_tokens is %d; %s answers with at most %d tokens", req.MaxTokens, ref.name, longest)
	}
	if window := known.Window; window > 0 && tokens > 2*window {
		return &runner.Failure{
			Kind: "invalid_input", Details: map[string]any{"class": "context_length"},
			Message: fmt.Sprintf("the conversation has about %d tokens; %s holds %d: compaction or conversation: isolated makes it shorter", tokens, ref.name, window),
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
	return hashText(text)
}

func hashText(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func identifyCaller(task *runner.Task, role string, turn int) model.Caller {
	out := model.Caller{Node: task.Node, Role: role, Visit: task.Visit, Turn: turn}
	if task.Place != task.Node {
		out.Place = task.Place
	}
	return out
}

// journalResult journals the response or error of a call. It journals only the usage of a cancelled call.
func (c *caller) journalResult(key string, response *model.Response, err error, usage handler.Usage) (*model.Response, error) {
	note := callNote{Key: key, Response: response}
	if err != nil && !errors.As(err, &note.Error) {
		usage.Cut = true
		_ = c.task.Models.Note(nil, usage) // the task ends anyway
		return nil, err
	}
	if kept := c.task.Models.Note(map[string]any{noteCall: note}, usage); kept != nil {
		return nil, kept
	}
	return response, modelFailure(err)
}

// findLogged returns the result of a call that finished before a crash.
func (c *caller) findLogged(key string) (response *model.Response, err error, found bool) {
	for _, entry := range c.task.Log {
		fields, _ := entry.(map[string]any)
		data, _ := fields[noteCall].(map[string]any)
		if data["key"] != key {
			continue
		}
		var note callNote
		if decodeData(data, &note) != nil {
			return nil, nil, false
		}
		if note.Error != nil {
			return nil, modelFailure(note.Error), true
		}
		return note.Response, nil, true
	}
	return nil, nil, false
}

func decodeData(data, into any) error {
	text, err := json.Marshal(data)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

// runBeforeModel calls the hooks before a model call, which may change the request.
func runBeforeModel(ctx context.Context, task *runner.Task, name string, req *model.Request) error {
	for _, h := range task.Hooks {
		if h.BeforeModel == nil {
			continue
		}
		call := newHookedCall(name, req)
		if err := h.BeforeModel(ctx, task, call); err != nil {
			return err
		}
		req.System, req.Messages = call.System, model.PairResults(call.Messages)
	}
	return nil
}

func runAfterModel(ctx context.Context, task *runner.Task, name string, req *model.Request, response *model.Response, err error) {
	var said model.Message
	if response != nil {
		said = response.Message()
	}
	for _, h := range task.Hooks {
		if h.AfterModel != nil {
			h.AfterModel(ctx, task, newHookedCall(name, req), said, err)
		}
	}
}

func newHookedCall(name string, req *model.Request) *handler.ModelCall {
	return &handler.ModelCall{Model: name, Role: req.Caller.Role, System: req.System, Messages: slices.Clone(req.Messages)}
}

// countTokens returns the tokens of a call whose request has about size tokens. It
// estimates missing and impossible counts, so that limits hold. A refused call is free.
func countTokens(ref modelRef, size int, response *model.Response, err error, streamed string) (tokens model.Usage, estimated bool) {
	var failed *model.Error
	isRefused := errors.As(err, &failed) && streamed == "" && failed.Kind != "timeout"
	switch {
	case response != nil && ref.isScript():
		return response.Usage, false
	case response == nil && (ref.isScript() || isRefused):
		return model.Usage{}, false
	case response == nil:
		return price.EstimateUsage(size, &model.Response{Content: streamed}), true
	}
	tokens = response.Usage
	missing := price.EstimateUsage(size, response)
	if tokens.Unreported || !tokens.IsPossible() {
		return missing, true
	}
	if tokens.InputTokens == 0 {
		tokens.InputTokens, estimated = missing.InputTokens, true
	}
	if tokens.OutputTokens == 0 && (response.Content != "" || len(response.ToolCalls) > 0) {
		tokens.OutputTokens, estimated = missing.OutputTokens, true
	}
	return tokens, estimated
}

func (c *caller) newUsage(ref modelRef, req *model.Request, tokens model.Usage, estimated bool) handler.Usage {
	who := req.Caller
	out := handler.Usage{
		Calls: 1, Model: ref.name, Scripted: ref.isScript(),
		Node: who.Node, Place: who.Place, Role: who.Role, Visit: who.Visit, Turn: who.Turn,
		InputTokens: tokens.InputTokens, OutputTokens: tokens.OutputTokens,
		CachedTokens: tokens.CachedTokens, ReasoningTokens: tokens.ReasoningTokens, Estimated: estimated,
	}
	cost, known := ref.findPrices().Cost(tokens)
	if known || tokens == (model.Usage{}) {
		out.CostUSD, out.Charged = &cost, cost
	}
	return out
}
