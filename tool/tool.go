// The package's API: tools, their calls, actors and options.

// Package tool calls the tools of a graph file: programs, graphs, and those of
// servers that speak the Model Context Protocol. It finds a tool by its name,
// holds callers to the list they are allowed, checks arguments against the
// tool's schema before anything runs, and keeps servers for as long as the
// Registry lives. Running programs and graphs is left to the caller, an Actor.
package tool

import (
	"context"
	"io"
	"time"

	"github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/model"
)

// Tool describes a tool to models; its Parameters are never nil. Calls use its name,
// "add" or "server.add".
type Tool = model.Tool

// Program is a declared program that one call runs. Empty fields have the defaults of
// exec nodes.
type Program struct {
	// Tool is the name of the tool.
	Tool    string
	Command []any          `key:"command"`
	Env     map[string]any `key:"env"`
	Dir     string         `key:"dir"` // relative to the graph file
	Parse   string         `key:"parse"`
	EnvPass any            `key:"env_pass"`
	// Args is the argument object, which the program reads on stdin.
	Args map[string]any
}

// Actor runs programs and graphs for the task that calls a tool. Results are plain data.
type Actor interface {
	Exec(ctx context.Context, program *Program) (any, error)
	Graph(ctx context.Context, file string, args map[string]any) (any, error)
	// StandIn answers a call in place of its tool; handled is false to make the call.
	StandIn(ctx context.Context) (result any, handled bool, err error)
	// Warn warns the person who runs the graph.
	Warn(message string)
	// Ask puts a server's question during a call to a person. If there is no answer yet
	// the call ends with an error, and is made again later. schema describes an object;
	// nil allows any answer. The answer is such an object or Declined.
	Ask(tool, message string, schema map[string]any) (answer any, answered bool)
	// TraceParent returns the W3C traceparent for a server's `_meta`, or "".
	TraceParent() string
	// Progress reports how far a call is; total is 0 if unknown.
	Progress(tool, message string, done, total float64)
}

// Call is one call. Its ID is not read.
type Call = model.ToolCall

// Error is a failed call: the tool failed, is unknown or not allowed, or its arguments
// are wrong. Models read the message too.
type Error struct {
	Message string
	// Kind is the failure kind of a program or graph; "" means tool.
	Kind string
	// NotMade says that the call is not allowed or has wrong arguments: a retry is
	// pointless.
	NotMade bool
	// Details hold more, such as exit_code.
	Details map[string]any
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Options are the settings of a Registry. The zero value works.
type Options struct {
	// Dir is the folder of the graph file.
	Dir string
	// Grace is how long a server may take to end before it is killed; 0 means 5 s.
	Grace time.Duration
	// DiscoverTime is how long a server may take to name its version of the protocol
	// before it counts as an older one; 0 means 3 s.
	DiscoverTime time.Duration
	// Kill ends all graces when it is closed; nil means never.
	Kill <-chan struct{}
	// Stderr returns the log of a server's stderr; nil means none.
	Stderr func(server string) io.Writer
	// Withheld are variables that a server gets only if its env_pass names them.
	Withheld []string
	// Keeper starts servers that are programs; nil means one of their own.
	Keeper *process.Keeper
	// RunDir returns the folder of the run; nil means there is none.
	RunDir func() (string, error)
}
