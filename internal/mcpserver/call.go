// Tool calls, which run flows.

package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

// errOver ends the progress reports; progressTime bounds the wait for a slow client.
var errOver = errors.New("the run does not go on")

const progressTime = 2 * time.Second

// errByClient cancels a run when the client cancels its call.
var errByClient = errors.New("cancelled by the MCP client")

// run handles the call of a flow's tool. A repeated call with answers continues its run.
func (s *server) run(ctx context.Context, req *mcp.CallToolRequest, path string) (*mcp.CallToolResult, error) {
	if id := req.Params.RequestState; id != "" {
		return s.continueRun(ctx, req, id, req.Params.InputResponses)
	}
	input := map[string]any{}
	if err := decode(req.Params.Arguments, &input); err != nil {
		return errorResult(err), nil
	}
	flow, err := s.Catalog.Runnable(path, s.Runner)
	if err != nil {
		return errorResult(err), nil
	}
	d, err := s.Fleet.Start(flow, runner.Options{Input: input, By: byClient(req)})
	if err != nil {
		return errorResult(err), nil
	}
	return s.follow(ctx, req, d)
}

// answer handles the call of the tool that answers a run.
func (s *server) answer(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args struct {
		Run    string `json:"run_id"`
		Target string `json:"target"`
		Value  any    `json:"value"`
	}
	if err := decode(req.Params.Arguments, &args); err != nil {
		return errorResult(err), nil
	}
	if id := req.Params.RequestState; id != "" {
		return s.continueRun(ctx, req, id, req.Params.InputResponses)
	}
	result, err := s.Runner.Show(args.Run, runner.Options{})
	if err != nil {
		return errorResult(err), nil
	}
	if args.Target == "" && len(result.Pending) == 1 {
		args.Target = result.Pending[0].Target()
	}
	return s.giveAnswers(ctx, req, args.Run, []store.GivenAnswer{{Target: args.Target, Text: eval.ResultText(args.Value)}})
}

// giveAnswers answers a run and follows it.
func (s *server) giveAnswers(ctx context.Context, req *mcp.CallToolRequest, id string, given []store.GivenAnswer) (*mcp.CallToolResult, error) {
	d, err := s.Fleet.Answer(ctx, id, given, byClient(req))
	if err != nil {
		return errorResult(err), nil
	}
	if d == nil { // another process continues it
		result, err := s.Runner.Show(id, runner.Options{})
		if err != nil {
			return errorResult(err), nil
		}
		return toolResult(result), nil
	}
	return s.follow(ctx, req, d)
}

// follow reports the steps of a run until it ends or asks a question, which it passes to the
// client if that can ask.
func (s *server) follow(ctx context.Context, req *mcp.CallToolRequest, d *fleet.Drive) (*mcp.CallToolResult, error) {
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.progress(watching, req, d)
	}()
	select {
	case <-d.Done:
	case <-ctx.Done():
		s.Fleet.Cancel(d.ID, errByClient)
		<-d.Done
	}
	select {
	case <-watched: // to the end, or to the pause
	case <-time.After(progressTime):
	}
	stop()
	<-watched
	if d.Err != nil {
		return errorResult(d.Err), nil
	}
	result := d.Result
	if result.Status != machine.Paused || len(result.Pending) == 0 || !canAsk(req) || ctx.Err() != nil {
		return toolResult(result), nil
	}
	if byRounds(req) {
		asks := mcp.InputRequestMap{}
		for i := range result.Pending {
			asks[result.Pending[i].Target()] = question(&result.Pending[i])
		}
		return &mcp.CallToolResult{InputRequests: asks, RequestState: result.RunID}, nil
	}
	answers := mcp.InputResponseMap{}
	for i := range result.Pending {
		answer, err := req.Session.Elicit(ctx, question(&result.Pending[i]))
		if err != nil {
			return toolResult(result), nil
		}
		answers[result.Pending[i].Target()] = answer
	}
	return s.continueRun(ctx, req, result.RunID, answers)
}

// continueRun passes the client's answer to the run. Without an answer the run stays paused.
func (s *server) continueRun(ctx context.Context, req *mcp.CallToolRequest, id string, answers mcp.InputResponseMap) (*mcp.CallToolResult, error) {
	result, err := s.Runner.Show(id, runner.Options{})
	if err != nil {
		return errorResult(err), nil
	}
	var given []store.GivenAnswer
	for i := range result.Pending {
		p := &result.Pending[i]
		said, _ := answers[p.Target()].(*mcp.ElicitResult)
		if said == nil || said.Action != "accept" {
			continue
		}
		var value any = said.Content
		if !fitsForm(p.Schema) {
			value = said.Content["answer"]
		}
		given = append(given, store.GivenAnswer{Target: p.Target(), Text: eval.ResultText(value)})
	}
	if len(given) == 0 {
		return toolResult(result), nil
	}
	return s.giveAnswers(ctx, req, id, given)
}

// progress reports each finished step to the client.
func (s *server) progress(ctx context.Context, req *mcp.CallToolRequest, d *fleet.Drive) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return
	}
	_ = s.Fleet.Watch(ctx, d.ID, d.Before(), fleet.Watcher{ // the call continues without progress
		Tell: func(lines []fleet.Line) error {
			for i := range lines {
				var e struct {
					Step int    `json:"step"`
					Node string `json:"node"`
					Next []string
				}
				if lines[i].End || lines[i].Type == runner.RunPaused {
					return errOver
				}
				if lines[i].Type != runner.EdgesResolved || json.Unmarshal(lines[i].JSON, &e) != nil || strings.Contains(e.Node, "/") {
					continue
				}
				err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token, Progress: float64(e.Step), Message: e.Node + " → " + strings.Join(e.Next, ", "),
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
		Idle: func() error { return nil },
	})
}

// canAsk reports whether the client supports elicitation.
func canAsk(req *mcp.CallToolRequest) bool {
	caps := req.ClientCapabilities()
	return caps != nil && caps.Elicitation != nil && (caps.Elicitation.Form != nil || caps.Elicitation.URL == nil)
}

// firstOfRounds is the first protocol version in which a server asks by a result that requests
// input instead of by a request.
const firstOfRounds = "2026-07-28"

func byRounds(req *mcp.CallToolRequest) bool {
	params := req.Session.InitializeParams()
	return params == nil || params.ProtocolVersion >= firstOfRounds
}

func byClient(req *mcp.CallToolRequest) string {
	if params := req.Session.InitializeParams(); params != nil && params.ClientInfo != nil && params.ClientInfo.Name != "" {
		return params.ClientInfo.Name + ", by MCP"
	}
	return "an MCP client"
}

// question returns a question of a run as a form.
func question(p *view.Pending) *mcp.ElicitParams {
	message := p.Prompt
	if p.Kind == "tool" {
		message += "\n" + p.Name + " " + eval.ResultText(p.Args)
	}
	schema := p.Schema
	if !fitsForm(schema) {
		answer := map[string]any{"type": "string"}
		if document, ok := schema.(map[string]any); ok && isPrimitive(document) {
			answer = document
		}
		schema = map[string]any{"type": "object", "properties": map[string]any{"answer": answer}, "required": []any{"answer"}}
	}
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: schema}
}

// fitsForm reports whether a form can show a schema: an object of primitives.
func fitsForm(schema any) bool {
	document, _ := schema.(map[string]any)
	properties, _ := document["properties"].(map[string]any)
	if document["type"] != "object" || len(properties) == 0 {
		return false
	}
	for _, property := range properties { //lint:ignore mapiter all have to be
		if p, ok := property.(map[string]any); !ok || !isPrimitive(p) {
			return false
		}
	}
	return true
}

// isPrimitive reports whether a schema describes a text, a number or a truth value.
func isPrimitive(schema map[string]any) bool {
	if list, ok := schema["enum"].([]any); ok && schema["type"] == nil {
		for _, v := range list {
			if _, isText := v.(string); !isText {
				return false
			}
		}
		schema["type"] = "string"
		return true
	}
	switch schema["type"] {
	case "string", "number", "integer", "boolean":
		return true
	}
	return false
}

// toolResult returns the result of a run.
func toolResult(result *runner.Result) *mcp.CallToolResult {
	out := &mcp.CallToolResult{StructuredContent: structured(result)}
	say := func(format string, args ...any) {
		out.Content = append(out.Content, &mcp.TextContent{Text: fmt.Sprintf(format, args...)})
	}
	switch result.Status {
	case machine.Completed:
		if result.Output == nil {
			say("%s", eval.ResultText(result.State))
		} else {
			say("%s", eval.ResultText(result.Output))
		}
	case machine.Paused:
		say("run %s waits (%s)", result.RunID, result.Reason)
		for _, q := range inspect.ListQuestions(result) {
			say("%s asks: %s\nAnswer it with %s: run_id %q, target %q; the answer's schema is %s", q.Node, q.Prompt, answerTool, q.Run, q.Target, eval.ResultText(q.Schema))
		}
	default:
		out.IsError = true
		say("run %s ended: %s (%s)", result.RunID, result.Status, result.Reason)
		if result.Error != nil {
			say("%s: %s", result.Error.Node, result.Error.Message)
		}
	}
	return out
}

// structured is the structured content of a result.
func structured(result *runner.Result) map[string]any {
	return map[string]any{
		"run_id": result.RunID, "status": result.Status, "reason": result.Reason, "output": result.Output, "state": result.State,
		"error": result.Error, "pending": inspect.ListQuestions(result), "steps": result.Steps,
	}
}

// errorResult returns the result of a call that did not start a run.
func errorResult(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
}

// decode reads arguments; whole numbers stay whole.
func decode(src json.RawMessage, into any) error {
	if len(bytes.TrimSpace(src)) == 0 {
		return nil
	}
	if err := eval.DecodeJSON(src, into); err != nil {
		return fmt.Errorf("the arguments can't be read: %w", err)
	}
	return nil
}
