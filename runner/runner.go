// Package runner runs graphs in this process. It is the API for Go programs.
//
// A [Runner] knows the node kinds set, pass, wait, fail and human, and those of its Config. node.Kinds
// returns the kinds of the command line. Parse a graph with the kinds, check it, and run it:
//
//	r, err := runner.New(runner.Config{Kinds: node.Kinds(node.Options{})})
//	...
//	graph, findings := spec.Parse("flow.yaml", src, spec.Options{Kinds: r.Kinds()})
//	findings = append(findings, spec.Check(graph)...)
//	...
//	result, err := r.Run(ctx, graph, runner.Options{Input: map[string]any{"text": "hello"}})
//
// The [Result] says how the run ended, also when it failed. An error means that nothing ran.
// [Runner.Prepare] compiles a graph into a [Flow] that can run many times.
//
// # Kinds of nodes
//
// A [Kind] has a name, its keys, and a [Handler], which runs one attempt:
//
//	shout := runner.Kind{
//		Spec: spec.Kind{Name: "shout", Keys: []spec.Key{
//			{Name: "text", Type: spec.TypeString, Role: spec.RoleTemplate, Required: true, Doc: "What to shout."},
//		}},
//		Handler: runner.HandlerFunc(func(ctx context.Context, task *runner.Task) (any, error) {
//			return strings.ToUpper(fmt.Sprint(task.Config["text"])), nil
//		}),
//	}
//
// A handler fails with any error, or with a [Failure], whose kind retries and edges can match.
// [Task.Interrupt] asks a person. Package handler has types for kinds that call models or tools.
//
// # Events
//
// A [Sink] receives every [Event] of a run, one at a time and in order:
//
//	opts := runner.Options{Sink: runner.NewJSONSink(os.Stdout)}
//
// [Hooks] are called around every attempt, and may change its input and output.
//
// # Runs that outlive a process
//
// With a store, every event is stored before it takes effect. Another process can resume a run that
// paused or whose process died. Finished nodes do not run again:
//
//	db, err := sqlite.Open("runs.db", sqlite.Options{})
//	...
//	r, err := runner.New(runner.Config{Kinds: kinds, Store: db})
//	...
//	result, err := r.Run(ctx, graph, runner.Options{RunID: "order-17"})
//	...
//	result, err = r.Resume(ctx, "order-17", runner.Options{Answers: map[string][]string{"approve": {"yes"}}})
//
// [Runner.Show], [Runner.Follow] and [Runner.Replay] read runs, [Runner.Fork] starts a new one from any
// of their steps. Package view has the parts of a Result, package virtual a clock for tests.
package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/internal/flowtree"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// Config configures a Runner. The zero value runs graphs of set, pass, wait and fail nodes.
type Config struct {
	// Kinds are further node kinds; see node.Kinds.
	Kinds []Kind
	Clock Clock // for runs without Options.Clock; nil means the system clock
	// Decider answers llm_decide edges. Without one, their fallback edge fires.
	Decider Decider
	Store   store.Store // for journals; may be nil
	// Load reads the file of a subgraph or of a text. If it is nil, regular files of at most 16 MiB are
	// read.
	Load  func(path string) ([]byte, error)
	Owner string // names this driver while it resumes a run
	// Rewrite replaces the graph of the node at a path before it is prepared, for tests with stubs.
	// path is "" for the outermost graph. Rewrite must not modify g, and must always return the same
	// graph.
	Rewrite func(path string, g *spec.Graph) *spec.Graph
	// Secrets returns the secrets of a graph by name, unless Options.Secrets does. nil reads them.
	Secrets func(g *spec.Graph) map[string]any
	// Notifier sends notifications of questions and of the ends of runs. It may be nil.
	Notifier *Notifier
	// Watch receives the events of every driven run before Options.Sink. Its errors are ignored.
	Watch Sink
	// Hooks are called around every node that a handler runs.
	Hooks Hooks
	// NodeHooks are called for one node (by id), before Hooks.
	NodeHooks map[string]Hooks
	// Host drives the runs inside another engine and is their clock. It may be nil. With a Host,
	// handlers, the Decider and hooks after a node are not called.
	Host Host
}

// Options are the settings of one run. The zero value takes everything from the graph. Their JSON is
// for other processes.
type Options struct {
	// RunID identifies the run. If it is empty, the run gets a new id.
	RunID string
	// Input holds the input by state key, as plain data.
	Input map[string]any
	// MaxSteps, Timeout, MaxConcurrency and MaxStateBytes replace the graph's limits unless 0.
	MaxSteps       int
	MaxStateBytes  int
	Timeout        time.Duration
	MaxConcurrency int
	// Goal replaces the goal of the graph unless it is empty.
	Goal string
	// Sink receives the events. It may be nil.
	Sink Sink `json:"-"`
	// Warn receives each warning and its node (outer/inner in a subgraph), one at a time.
	Warn    func(node, message string) `json:"-"`
	History bool                       // the Result has a record of every node execution
	Labels  map[string]string          // stored with the run
	// Session names the session whose state and conversation the run continues. A fork has none;
	// a resumed run keeps its own.
	Session   string
	session   sessionPart
	readsOnly bool // the run is only read, so no program is called for a secret
	// Answers are given in advance by target (see view.Pending.Target), in order. Answers without an
	// index for a node with an `each` go to its elements in order.
	Answers map[string][]string
	// OnLogLine receives the latest masked line of each program or model, at most ten times a second.
	// It must be safe for concurrent use, and may be called once after the run.
	OnLogLine func(line store.LogChunk) `json:"-"`
	// By is the person who gives Answers, and the answers of Ask.
	By string
	// Ask asks a person, until ctx ends. If it is nil, the run pauses instead. It must be safe for
	// concurrent use. After an invalid answer it is called again, with the problem.
	Ask func(ctx context.Context, question view.Pending, problem string) (answer string, err error) `json:"-"`
	// PauseBefore and PauseAfter name further nodes with breakpoints (outer/inner in a subgraph).
	PauseBefore []string
	PauseAfter  []string
	// Models replace the graph's models by role. Paths of scripts are relative to Dir.
	Models map[string]string
	// ModelParams set parameters of model nodes: temperature, max_tokens, model and so on.
	ModelParams []handler.ModelParam
	// Park pauses a run that only waits for time or a question's timeout, if longer than this. The
	// Result has the reason "wait" and Due. With 0 the driver waits.
	Park time.Duration
	// Rush skips waits and retry delays, for a run whose answers are known.
	Rush bool
	// Clock is the clock of the run. The default is the clock of the Runner.
	Clock Clock `json:"-"`
	// Secrets returns the secrets of a graph by name. If it is nil, they are read as the graph says.
	Secrets func(g *spec.Graph) map[string]any `json:"-"`
	// Dir is the folder for relative paths of the graph, by default the folder of its file.
	Dir string
}

// runInfo returns the settings that the machine needs.
func (o *Options) runInfo(runID string) *machine.RunInfo {
	var models *machine.ModelSettings
	if len(o.Models) > 0 || len(o.ModelParams) > 0 {
		models = &machine.ModelSettings{Models: o.Models, Params: o.ModelParams}
	}
	return &machine.RunInfo{
		ID: runID, MaxSteps: o.MaxSteps, MaxConcurrency: o.MaxConcurrency, Timeout: o.Timeout, MaxStateBytes: o.MaxStateBytes, Goal: o.Goal,
		PauseBefore: o.PauseBefore, PauseAfter: o.PauseAfter, Session: o.session.keys, Talk: o.session.talk, Models: models,
	}
}

// Runner runs graphs. It is safe for concurrent use.
type Runner struct {
	cfg      Config
	handlers map[string]Handler
	kinds    []spec.Kind
	always   *machine.Plan // whose notify applies to all graphs; may be nil
	// minSnapshotGap is the minimum size of the events between two snapshots, in bytes.
	minSnapshotGap int
}

// New returns a Runner. Each kind needs a unique name and a handler.
func New(cfg Config) (*Runner, error) {
	r := &Runner{cfg: cfg, handlers: map[string]Handler{}, minSnapshotGap: minSnapshotGap}
	switch {
	case cfg.Host != nil:
		r.cfg.Clock = cfg.Host
	case cfg.Clock == nil:
		r.cfg.Clock = systemClock{}
	}
	if cfg.Decider == nil {
		r.cfg.Decider = noDecider{}
	}
	for _, kind := range cfg.Kinds {
		name := kind.Spec.Name
		switch {
		case name == "" || kind.Handler == nil:
			return nil, fmt.Errorf("node kind %q needs a name and a handler", name)
		case r.handlers[name] != nil || slices.Contains(flowtree.MachineKinds(), name):
			return nil, fmt.Errorf("node kind %q is given twice", name)
		}
		r.handlers[name] = kind.Handler
		r.kinds = append(r.kinds, kind.Spec)
	}
	if cfg.Notifier != nil && cfg.Notifier.Always != nil {
		always, err := r.Prepare(cfg.Notifier.Always)
		if err != nil {
			return nil, err
		}
		r.always = always.tree.Plan
	}
	return r, nil
}

// Kinds returns the kinds to parse files with: spec.Options{Kinds: r.Kinds()}.
func (r *Runner) Kinds() []spec.Kind { return r.kinds }

// Run prepares and runs a graph to its end, a pause or a limit. A run that failed, got stuck or hit a
// limit returns a Result and no error. An error without a Result means that nothing ran: it is an
// *InputError, an *InvalidError or the store's. An error with a Result comes from a Sink or the Store.
// When ctx ends, the run is cancelled.
func (r *Runner) Run(ctx context.Context, g *spec.Graph, opts Options) (*Result, error) {
	flow, err := r.Prepare(g)
	if err != nil {
		return nil, err
	}
	return flow.Run(ctx, opts)
}

// InputError reports problems of a run's input, options or secrets.
type InputError struct {
	// Problems has a sentence per key, sorted by key.
	Problems []string
}

// Error joins the problems.
func (e *InputError) Error() string { return strings.Join(e.Problems, "; ") }

// InvalidError reports that a graph can't be run.
type InvalidError struct{ Diagnostics spec.Diagnostics }

// Error returns the first finding and the number of further ones.
func (e *InvalidError) Error() string {
	first := e.Diagnostics[0]
	at := first.File.Position(first.Span.From)
	text := fmt.Sprintf("%s:%d:%d: %s", first.File.Name, at.Line, at.Column, first.Message)
	if n := len(e.Diagnostics) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}
