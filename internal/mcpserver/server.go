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

// call is a call of a tool.
type call struct {
	Config
	ctx  context.Context
	req  *mcp.CallToolRequest
	asks mcp.InputRequestMap // questions that the client answers in another call
}

// newHandler returns the handler of a tool. A repeated call with answers continues its run.
func (cfg Config) newHandler(run func(*call) (*runner.Result, error)) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer := run
		if id := req.Params.RequestState; id != "" {
			answer = func(c *call) (*runner.Result, error) { return c.continueRun(id, req.Params.InputResponses) }
		}
		c := &call{Config: cfg, ctx: ctx, req: req}
		result, err := answer(c)
		switch {
		case err != nil:
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil
		case c.asks != nil:
			return &mcp.CallToolResult{InputRequests: c.asks, RequestState: result.RunID}, nil
		}
		return newResult(result), nil
	}
}

// New returns a server that offers the flows that exist now.
func New(cfg Config) (*mcp.Server, error) {
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
		if err != nil || !flow.IsValid() {
			continue // can't be run
		}
		tool := newTool(flow.Graph, path, taken)
		out.AddTool(tool, cfg.newHandler(func(c *call) (*runner.Result, error) { return c.runFlow(path) }))
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
	}, cfg.newHandler((*call).answerRun))
	return out, nil
}

// newTool describes a flow as a tool and gives it a name that is not taken.
func newTool(g *spec.Graph, path string, taken map[string]bool) *mcp.Tool {
	name := formatToolName(g.Name.Value)
	if taken[name] {
		name = formatToolName(path)
	}
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%.60s_%d", formatToolName(path), n)
	}
	taken[name] = true
	about := cmp.Or(g.Description.Value, "Runs the graph "+g.Name.Value+".")
	return &mcp.Tool{Name: name, Title: g.Name.Value, Description: about, InputSchema: inspect.BuildInputSchema(g)}
}

var otherCharacters = lazyregexp.New(`[^a-zA-Z0-9_-]`)

// formatToolName returns a name that every client accepts.
func formatToolName(text string) string {
	return cmp.Or(fmt.Sprintf("%.64s", otherCharacters.Get().ReplaceAllString(text, "_")), "flow")
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

func (c *call) runFlow(path string) (*runner.Result, error) {
	input := map[string]any{}
	if err := decodeArguments(c.req.Params.Arguments, &input); err != nil {
		return nil, err
	}
	flow, err := c.Catalog.Prepare(path, c.Runner)
	if err != nil {
		return nil, err
	}
	d, err := c.Fleet.Start(flow, runner.Options{Input: input, By: c.describeClient()})
	if err != nil {
		return nil, err
	}
	return c.followRun(d)
}

func (c *call) answerRun() (*runner.Result, error) {
	var args struct {
		Run    string `json:"run_id"`
		Target string `json:"target"`
		Value  any    `json:"value"`
	}
	if err := decodeArguments(c.req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	result, err := c.Runner.Show(args.Run, runner.Options{})
	if err != nil {
		return nil, err
	}
	if args.Target == "" && len(result.Pending) == 1 {
		args.Target = result.Pending[0].Target()
	}
	return c.answerAndFollow(args.Run, []store.GivenAnswer{{Target: args.Target, Text: eval.ResultText(args.Value)}})
}

func (c *call) answerAndFollow(id string, given []store.GivenAnswer) (*runner.Result, error) {
	d, err := c.Fleet.Answer(c.ctx, id, given, c.describeClient())
	if err != nil {
		return nil, err
	}
	if d == nil { // another process continues it
		return c.Runner.Show(id, runner.Options{})
	}
	return c.followRun(d)
}

// followRun reports the steps of a run until it ends or asks a question. If the client supports
// elicitation, it asks the client and continues the run.
func (c *call) followRun(d *fleet.Drive) (*runner.Result, error) {
	watching, stop := context.WithCancel(c.ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		c.reportProgress(watching, d)
	}()
	select {
	case <-d.Done:
	case <-c.ctx.Done():
		c.Fleet.Cancel(d.ID, errByClient)
		<-d.Done
	}
	select {
	case <-watched: // to the end, or to the pause
	case <-time.After(progressTimeout):
	}
	stop()
	<-watched
	result := d.Result
	if d.Err != nil || result.Status != machine.Paused || len(result.Pending) == 0 || !c.canAsk() || c.ctx.Err() != nil {
		return result, d.Err
	}
	if params := c.req.Session.InitializeParams(); params == nil || params.ProtocolVersion >= inputResultVersion {
		c.asks = mcp.InputRequestMap{}
		for i := range result.Pending {
			c.asks[result.Pending[i].Target()] = newForm(&result.Pending[i])
		}
		return result, nil
	}
	answers := mcp.InputResponseMap{}
	for i := range result.Pending {
		answer, err := c.req.Session.Elicit(c.ctx, newForm(&result.Pending[i]))
		if err != nil {
			return result, nil
		}
		answers[result.Pending[i].Target()] = answer
	}
	return c.continueRun(result.RunID, answers)
}

// continueRun passes the client's answer to the run. Without an answer the run stays paused.
func (c *call) continueRun(id string, answers mcp.InputResponseMap) (*runner.Result, error) {
	result, err := c.Runner.Show(id, runner.Options{})
	if err != nil {
		return nil, err
	}
	var given []store.GivenAnswer
	for _, p := range result.Pending {
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
		return result, nil
	}
	return c.answerAndFollow(id, given)
}

// reportProgress reports each finished step to the client.
func (c *call) reportProgress(ctx context.Context, d *fleet.Drive) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return
	}
	_ = c.Fleet.Watch(ctx, d.ID, d.Before, fleet.Watcher{ // the call continues without progress
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
				message := e.Node + " → " + strings.Join(e.Next, ", ")
				if err := c.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(e.Step), Message: message}); err != nil {
					return err
				}
			}
			return nil
		},
		Idle: func() error { return nil },
	})
}

// canAsk reports whether the client supports elicitation.
func (c *call) canAsk() bool {
	caps := c.req.ClientCapabilities()
	return caps != nil && caps.Elicitation != nil && (caps.Elicitation.Form != nil || caps.Elicitation.URL == nil)
}

// inputResultVersion is the first protocol version in which a server asks for input in the result
// of a call instead of in a request of its own.
const inputResultVersion = "2026-07-28"

func (c *call) describeClient() string {
	if params := c.req.Session.InitializeParams(); params != nil && params.ClientInfo != nil && params.ClientInfo.Name != "" {
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
	for _, property := range properties { //lint:ignore mapiter all must be primitive
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

// decodeArguments decodes arguments. Whole numbers become ints.
func decodeArguments(src json.RawMessage, into any) error {
	if len(bytes.TrimSpace(src)) == 0 {
		return nil
	}
	if err := eval.DecodeJSON(src, into); err != nil {
		return fmt.Errorf("the arguments can't be read: %w", err)
	}
	return nil
}
