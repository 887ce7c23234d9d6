// Package mcpserver offers flows as MCP tools. A call runs a flow, reports its steps as progress,
// and passes its questions to the client.
package mcpserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/runner"
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
		Instructions: "Each tool runs a graph of steps and returns what it came to. A run that waits for a person says so, with its id: " +
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
		tool := toolOf(flow.Graph, path, taken)
		out.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.run(ctx, req, path)
		})
	}
	out.AddTool(&mcp.Tool{
		Name: answerTool, Description: "Answers the question of a run that a tool of this server has started, and goes on with it.",
		InputSchema: map[string]any{
			"type": "object", "required": []any{"run_id", "value"}, "additionalProperties": false,
			"properties": map[string]any{
				"run_id": map[string]any{"type": "string", "description": "the run, as the result of the tool names it"},
				"target": map[string]any{"type": "string", "description": "the question, as the result names it; needed when there are several"},
				"value":  map[string]any{"description": "the answer, as the question's schema or choices want it"},
			},
		},
	}, s.answer)
	return out, nil
}

// toolOf describes a flow as a tool with a name of its own.
func toolOf(g *spec.Graph, path string, taken map[string]bool) *mcp.Tool {
	name := toolName(g.Name.Value)
	if taken[name] {
		name = toolName(path)
	}
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%.60s_%d", toolName(path), n)
	}
	taken[name] = true
	about := g.Description.Value
	if about == "" {
		about = "Runs the graph " + g.Name.Value + "."
	}
	return &mcp.Tool{Name: name, Title: g.Name.Value, Description: about, InputSchema: inspect.BuildInputSchema(g)}
}

// toolName returns a name that every client accepts.
func toolName(text string) string {
	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, text)
	if len(text) > 64 {
		text = text[:64]
	}
	if text == "" {
		return "flow"
	}
	return text
}

// idleSession is the lifetime of an HTTP session without requests.
const idleSession = time.Hour

// Handler serves streamable HTTP. The caller checks the token.
func Handler(cfg Config) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s, err := New(cfg)
		if err != nil {
			return nil // the folder is gone; the client gets an error
		}
		return s
	}, &mcp.StreamableHTTPOptions{SessionTimeout: idleSession, DisableLocalhostProtection: true}) // Host is checked before
}

// Serve serves MCP over streams until the client disconnects or ctx ends.
func Serve(ctx context.Context, cfg Config, in io.ReadCloser, out io.WriteCloser) error {
	s, err := New(cfg)
	if err != nil {
		return err
	}
	return s.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
}
