// The package's door: what a tool is, how it is declared and called.

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
)

// Tool is a tool as a model is offered it.
type Tool struct {
	// Name is what calls name: "add", or "server.add".
	Name        string
	Description string
	// Parameters is the JSON Schema of the argument object; never nil.
	Parameters map[string]any
}

// Program is a declared program that one call runs.
type Program struct {
	// Tool is the name of the tool.
	Tool    string
	Command []any
	// Env are more variables of the program; Dir is its working directory,
	// relative to the graph file; Parse is how its output is read. Empty means
	// the default of exec nodes.
	Env   map[string]any
	Dir   string
	Parse string
	// EnvPass is what the program gets of the caller's environment, as the key
	// env_pass has it; nil: what a shell needs.
	EnvPass any
	// Args is the argument object, which the program reads on stdin.
	Args map[string]any
}

// Actor runs what a call of a declared tool wants done, in the name of the task
// that makes the call. What it returns as a result is plain data.
type Actor interface {
	Exec(ctx context.Context, program *Program) (any, error)
	Graph(ctx context.Context, file string, args map[string]any) (any, error)
	// Server answers a call of a server's tool in the place of the server; handled
	// is false when the server is to be asked.
	Server(ctx context.Context) (result any, handled bool, err error)
	// Warn tells of something that the person who runs the graph should know.
	Warn(message string)
	// Ask puts a question of a server, asked while its tool is called, to a person.
	// Without an answer yet the call ends with an error, and is made again when there
	// is one. The schema is that of an object; nil: any answer will do. An answer is
	// such an object, or Declined.
	Ask(tool, message string, schema map[string]any) (answer any, answered bool)
	// Progress tells how far a call has come: what the server says of it, and, where
	// total is not 0, the part of it that is done.
	Progress(tool, message string, done, total float64)
}

// Call is one call.
type Call struct {
	// Name is the tool's, as a model or a file names it.
	Name string
	Args map[string]any
	// Malformed is the text of arguments that are no JSON object; Args is nil then.
	Malformed string
	// TraceParent is the W3C traceparent that a server gets in `_meta`; "": none.
	TraceParent string
}

// Error says why a call gave no result: the tool failed, is not there or not
// allowed, or its arguments are wrong. The message is for the model too.
type Error struct {
	Message string
	// Kind is the failure kind of a program or graph that failed; empty: tool.
	Kind string
	// NotMade says that the call was not made: it is not allowed, or its arguments
	// are wrong. Nothing is gained by making it again.
	NotMade bool
	// Details are what else is known, such as exit_code; nil: nothing.
	Details map[string]any
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Options are the settings of a Registry. The zero value works.
type Options struct {
	// Dir is the folder of the graph file, to which the folders of servers are
	// relative.
	Dir string
	// Grace is how long a server may take to end when it is asked to, before it
	// is killed; 0 means 5 seconds.
	Grace time.Duration
	// DiscoverTime is how long a server may take to say which version of the protocol
	// it speaks, before it is taken for an older one; 0 means 3 seconds.
	DiscoverTime time.Duration
	// Kill, when it is closed, ends all graces at once; nil: never.
	Kill <-chan struct{}
	// Stderr returns where to write what a server says on stderr, besides keeping
	// its end for messages; nil: nowhere.
	Stderr func(server string) io.Writer
	// Withheld are variables that no server gets unless its env_pass names them.
	Withheld []string
	// Keeper starts the servers that are programs; nil: one of their own.
	Keeper *process.Keeper
	// RunDir makes the folder of the run for a server that starts; nil: there is none.
	RunDir func() (string, error)
	// Version is what servers are told that they talk to; empty: "dev".
	Version string
}
