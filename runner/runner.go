// The door for Go users: check a graph, run it, watch it.

package runner

import (
	"context"
	"errors"
	"time"

	"github.com/graphrun/graphrun/spec"
)

// Config configures a Runner. The zero value runs graphs of pure nodes.
type Config struct {
	// Kinds are the node kinds that can run besides set, pass, wait and fail;
	// node.Kinds() gives graphrun's own.
	Kinds []Kind
	// Clock is the clock; nil is the machine's.
	Clock Clock
}

// Options are the settings of one run. The zero value takes all from the graph.
type Options struct {
	// RunID identifies the run; empty: a new one.
	RunID string
	// Input holds the run's input by state key, as plain data.
	Input map[string]any
	// MaxSteps, Timeout and MaxConcurrency replace the graph's limits when not 0.
	MaxSteps       int
	Timeout        time.Duration
	MaxConcurrency int
	// Goal replaces the graph's goal when not empty.
	Goal string
	// Sink receives the events; nil: none.
	Sink Sink
	// History keeps a record of every node execution in the Result.
	History bool
	// Dir resolves relative paths of the graph; empty: the folder of its file.
	Dir string
}

// Runner runs graphs. It is safe for concurrent use.
type Runner struct{ cfg Config }

// New checks a Config.
func New(cfg Config) (*Runner, error) { return &Runner{cfg: cfg}, nil }

// Run runs a graph to its end, a pause or a limit. A run that failed, got
// stuck or hit a limit is a Result, not an error; an error means that nothing
// was run (*InputError for bad input, *InvalidError for a bad graph) or that
// the tool itself could not work.
func (r *Runner) Run(ctx context.Context, g *spec.Graph, opts Options) (*Result, error) {
	return nil, errors.New("not written yet")
}

// InputError says what is wrong with a run's input.
type InputError struct {
	// Problems is one sentence per key, sorted by key.
	Problems []string
}

// Error joins the problems.
func (e *InputError) Error() string { return "bad input" }

// InvalidError says that a graph can't be run.
type InvalidError struct{ Diagnostics spec.Diagnostics }

// Error counts the findings.
func (e *InvalidError) Error() string { return "the graph is not valid" }
