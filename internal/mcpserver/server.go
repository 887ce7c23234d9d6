// Package mcpserver offers flows as MCP tools. A call runs a flow, reports its steps as progress,
// and passes its questions to the client.
package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// Config configures a server.
type Config struct {
	Catalog *catalog.Catalog
	Fleet   *fleet.Fleet
	Runner  *runner.Runner
	Version string
}

// answerTool is the name of the tool that answers a run.
const answerTool = "graphrun_answer"

// server answers the calls of a session.
type server struct {
	Config
}

// New returns a server that offers the present flows.
func New(cfg Config) (*mcp.Server, error) {
	s := &server{cfg}
	out := mcp.NewServer(&mcp.Implementation{Name: "graphrun", Version: cfg.Version}, &mcp.ServerOptions{
		Instructions: "Each tool runs a graph of steps and returns its result. A run that waits for a person says so, with its id: " +
			answerTool + " answers it.",
	})
	paths, err := cfg.Catalog.Paths()
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{answerTool: true}
	for _, path := range paths {
		flow, err := cfg.Catalog.Load(path)
		if err != nil || !flow.Valid() {
			continue // can't be run
		}
		tool := newTool(flow.Graph, path, taken)
		out.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.runFlow(ctx, req, path)
		})
	}
	out.AddTool(&mcp.Tool{
		Name: answerTool, Description: "Answers the question of a run that a tool of this server has started, and continues the run.",
		InputSchema: map[string]any{
			"type": "object", "required": []any{"run_id", "value"}, "additionalProperties": false,
			"properties": map[string]any{
				"run_id": map[string]any{"type": "string", "description": "the run, as the result of the tool names it"},
				"target": map[string]any{"type": "string", "description": "the question, as the result names it; needed when there are several"},
				"value":  map[string]any{"description": "the answer, as the question's schema or choices want it"},
			},
		},
	}, s.answerRun)
	return out, nil
}

// newTool describes a flow as a tool with a name of its own.
func newTool(g *spec.Graph, path string, taken map[string]bool) *mcp.Tool {
	name := toolName(g.Name.Value)
	if taken[name] {
		name = toolName(path)
	}
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%.60s_%d", toolName(path), n)
	}
	taken[name] = true
	about := cmp.Or(g.Description.Value, "Runs the graph "+g.Name.Value+".")
	return &mcp.Tool{Name: name, Title: g.Name.Value, Description: about, InputSchema: inspect.BuildInputSchema(g)}
}

var otherCharacters = lazyregexp.New(`[^a-zA-Z0-9_-]`)

// toolName returns a name that every client accepts.
func toolName(text string) string {
	return cmp.Or(fmt.Sprintf("%.64s", otherCharacters().ReplaceAllString(text, "_")), "flow")
}

// sessionTimeout is the lifetime of an HTTP session without requests.
const sessionTimeout = time.Hour

// Handler serves streamable HTTP. The caller checks the token.
func Handler(cfg Config) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s, err := New(cfg)
		if err != nil {
			return nil // the folder is gone, and the client gets an error
		}
		return s
	}, &mcp.StreamableHTTPOptions{SessionTimeout: sessionTimeout, DisableLocalhostProtection: true}) // Host is checked before
}

// Serve serves MCP over streams until the client disconnects or ctx ends.
func Serve(ctx context.Context, cfg Config, in io.ReadCloser, out io.WriteCloser) error {
	s, err := New(cfg)
	if err != nil {
		return err
	}
	return s.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
}

// errRunStopped ends the progress reports. progressTimeout bounds the wait for a slow client.
var errRunStopped = errors.New("the run has stopped")

const progressTimeout = 2 * time.Second

// errByClient cancels a run when the client cancels its call.
var errByClient = errors.New("cancelled by the MCP client")

// runFlow handles the call of a flow's tool. A repeated call with answers continues its run.
func (s *server) runFlow(ctx context.Context, req *mcp.CallToolRequest, path string) (*mcp.CallToolResult, error) {
	if id := req.Params.RequestState; id != "" {
		return s.continueRun(ctx, req, id, req.Params.InputResponses)
	}
	input := map[string]any{}
	if err := decodeArguments(req.Params.Arguments, &input); err != nil {
		return newErrorResult(err), nil
	}
	flow, err := s.Catalog.Prepare(path, s.Runner)
	if err != nil {
		return newErrorResult(err), nil
	}
	d, err := s.Fleet.Start(flow, runner.Options{Input: input, By: describeClient(req)})
	if err != nil {
		return newErrorResult(err), nil
	}
	return s.followRun(ctx, req, d)
}

// answerRun handles the call of the tool that answers a run.
func (s *server) answerRun(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args struct {
		Run    string `json:"run_id"`
		Target string `json:"target"`
		Value  any    `json:"value"`
	}
	if err := decodeArguments(req.Params.Arguments, &args); err != nil {
		return newErrorResult(err), nil
	}
	if id := req.Params.RequestState; id != "" {
		return s.continueRun(ctx, req, id, req.Params.InputResponses)
	}
	result, err := s.Runner.Show(args.Run, runner.Options{})
	if err != nil {
		return newErrorResult(err), nil
	}
	if args.Target == "" && len(result.Pending) == 1 {
		args.Target = result.Pending[0].Target()
	}
	return s.answerAndFollow(ctx, req, args.Run, []store.GivenAnswer{{Target: args.Target, Text: eval.ResultText(args.Value)}})
}

func (s *server) answerAndFollow(ctx context.Context, req *mcp.CallToolRequest, id string, given []store.GivenAnswer) (*mcp.CallToolResult, error) {
	d, err := s.Fleet.Answer(ctx, id, given, describeClient(req))
	if err != nil {
		return newErrorResult(err), nil
	}
	if d == nil { // another process continues it
		result, err := s.Runner.Show(id, runner.Options{})
		if err != nil {
			return newErrorResult(err), nil
		}
		return newResult(result), nil
	}
	return s.followRun(ctx, req, d)
}

// followRun reports the steps of a run until it ends or asks a question, which it passes to the
// client if that can ask.
func (s *server) followRun(ctx context.Context, req *mcp.CallToolRequest, d *fleet.Drive) (*mcp.CallToolResult, error) {
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.reportProgress(watching, req, d)
	}()
	select {
	case <-d.Done:
	case <-ctx.Done():
		s.Fleet.Cancel(d.ID, errByClient)
		<-d.Done
	}
	select {
	case <-watched: // to the end, or to the pause
	case <-time.After(progressTimeout):
	}
	stop()
	<-watched
	if d.Err != nil {
		return newErrorResult(d.Err), nil
	}
	result := d.Result
	if result.Status != machine.Paused || len(result.Pending) == 0 || !canAsk(req) || ctx.Err() != nil {
		return newResult(result), nil
	}
	if asksByResult(req) {
		asks := mcp.InputRequestMap{}
		for i := range result.Pending {
			asks[result.Pending[i].Target()] = newForm(&result.Pending[i])
		}
		return &mcp.CallToolResult{InputRequests: asks, RequestState: result.RunID}, nil
	}
	answers := mcp.InputResponseMap{}
	for i := range result.Pending {
		answer, err := req.Session.Elicit(ctx, newForm(&result.Pending[i]))
		if err != nil {
			return newResult(result), nil
		}
		answers[result.Pending[i].Target()] = answer
	}
	return s.continueRun(ctx, req, result.RunID, answers)
}

// continueRun passes the client's answer to the run. Without an answer the run stays paused.
func (s *server) continueRun(ctx context.Context, req *mcp.CallToolRequest, id string, answers mcp.InputResponseMap) (*mcp.CallToolResult, error) {
	result, err := s.Runner.Show(id, runner.Options{})
	if err != nil {
		return newErrorResult(err), nil
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
		return newResult(result), nil
	}
	return s.answerAndFollow(ctx, req, id, given)
}

// reportProgress reports each finished step to the client.
func (s *server) reportProgress(ctx context.Context, req *mcp.CallToolRequest, d *fleet.Drive) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return
	}
	_ = s.Fleet.Watch(ctx, d.ID, d.Before, fleet.Watcher{ // the call continues without progress
		Receive: func(lines []fleet.Line) error {
			for i := range lines {
				var e struct {
					Step int    `json:"step"`
					Node string `json:"node"`
					Next []string
				}
				if lines[i].End || lines[i].Type == runner.RunPaused {
					return errRunStopped
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

// inputResultVersion is the first protocol version in which a server asks by a result that requests
// input instead of by a request.
const inputResultVersion = "2026-07-28"

func asksByResult(req *mcp.CallToolRequest) bool {
	params := req.Session.InitializeParams()
	return params == nil || params.ProtocolVersion >= inputResultVersion
}

func describeClient(req *mcp.CallToolRequest) string {
	if params := req.Session.InitializeParams(); params != nil && params.ClientInfo != nil && params.ClientInfo.Name != "" {
		return params.ClientInfo.Name + ", by MCP"
	}
	return "an MCP client"
}

// newForm returns a question of a run as a form.
func newForm(p *view.Pending) *mcp.ElicitParams {
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

func newResult(result *runner.Result) *mcp.CallToolResult {
	out := &mcp.CallToolResult{StructuredContent: map[string]any{
		"run_id": result.RunID, "status": result.Status, "reason": result.Reason, "output": result.Output, "state": result.State,
		"error": result.Error, "pending": inspect.ListQuestions(result), "steps": result.Steps,
	}}
	say := func(format string, args ...any) {
		out.Content = append(out.Content, &mcp.TextContent{Text: fmt.Sprintf(format, args...)})
	}
	switch result.Status {
	case machine.Completed:
		said := result.Output
		if said == nil {
			said = result.State
		}
		say("%s", eval.ResultText(said))
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

// newErrorResult returns the result of a call that did not start a run.
func newErrorResult(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
}

// decodeArguments reads arguments. Whole numbers stay whole.
func decodeArguments(src json.RawMessage, into any) error {
	if len(bytes.TrimSpace(src)) == 0 {
		return nil
	}
	if err := eval.DecodeJSON(src, into); err != nil {
		return fmt.Errorf("the arguments can't be read: %w", err)
	}
	return nil
}
