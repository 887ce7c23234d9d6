// Node kinds: how Go programs, and graphrun itself, give nodes something to do.

package runner

import (
	"context"
	"io"
	"time"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// Failure is what a handler returns to fail a node with a kind of its choice.
// Any other error fails it with kind "failed" (or "timeout" and "cancelled"
// where the context says so).
type Failure = machine.Failure

// Kind is a kind of node.
type Kind struct {
	// Spec names the kind and its keys, so that files that use it are checked.
	Spec spec.Kind
	// Handler runs a node of the kind. It is called from several goroutines.
	Handler Handler
}

// Handler runs one attempt of a node and returns its output: nil, bool, int,
// float64, string, []any, map[string]any, or anything that marshals to JSON.
// It must return soon after ctx ends; work it started must have ended by then.
type Handler interface {
	Run(ctx context.Context, task *Task) (any, error)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, task *Task) (any, error)

// Run calls f.
func (f HandlerFunc) Run(ctx context.Context, task *Task) (any, error) { return f(ctx, task) }

// Task is one attempt of one node. A handler must not change what it points to. Its JSON has
// what can be sent to another process.
type Task struct {
	RunID string `json:",omitempty"`
	// Node is the node's path: its id, or outer/inner in a subgraph.
	Node    string `json:",omitempty"`
	Kind    string `json:",omitempty"`
	Visit   int    `json:",omitempty"` // from 1
	Attempt int    `json:",omitempty"` // from 1
	// Item and Index are the element of an `each`; Index is -1 otherwise.
	Item  any `json:",omitempty"`
	Index int `json:",omitempty"`
	// Place tells tasks of one node and visit apart: Node with the elements of
	// each `each` on its path, from 0, and the tool calls, from 1, that graphs
	// run for: a[2], outer[0]/inner, agent#1/step.
	Place string `json:",omitempty"`
	// Key is the idempotency key: the same for every attempt of the same work.
	Key string `json:",omitempty"`
	// Config holds the keys of the node's kind as plain data, templates
	// rendered, expressions evaluated.
	Config map[string]any `json:",omitempty"`
	// Input is the node's input.
	Input any `json:",omitempty"`
	// State holds the state keys that the node may read.
	State map[string]any `json:",omitempty"`
	// Dir is the folder of the graph file, to resolve relative paths.
	Dir string `json:",omitempty"`
	// Graph is the graph that the node stands in.
	Graph *spec.Graph `json:"-"`
	// Tools and Providers are the graph's declarations by name, templates
	// rendered; they may hold secrets.
	Tools     map[string]any `json:",omitempty"`
	Providers map[string]any `json:",omitempty"`
	// Hooks are those of the node, then those of the runner: who calls tools and
	// models calls their hooks too.
	Hooks []Hooks `json:"-"`
	// RunDir makes the folder of the run, if it is not there yet, and returns its
	// path; nil outside of a runner.
	RunDir func() (string, error) `json:"-"`
	// Scope is shared by all tasks of the run; nil outside of a runner.
	Scope *handler.Scope `json:"-"`
	// Talk is the conversation, for kinds that take part in it (llm, agent,
	// tools); nil for others.
	Talk *handler.Talk `json:",omitempty"`
	// Models is what calling models takes; nil outside of a runner.
	Models *handler.ModelAccess `json:",omitempty"`
	// WantsText says whether an output that can be read as data or as text is to
	// be the text, since only that fits what the node writes; nil: data.
	WantsText func(data any, text string) bool `json:"-"`
	// CallGraph runs a graph that the file declares as a tool and returns its
	// output. It may be called from several goroutines, until Run returns; an
	// error that is no *Failure must be returned: the graph waits for people, or
	// the run is over. nil: the file declares none.
	CallGraph func(ctx context.Context, call handler.GraphCall) (any, error) `json:"-"`
	// Beside says by how many the calls have changed that the task makes side by
	// side: while others run, a graph that waits for people goes on as soon as they
	// answer. nil where CallGraph is.
	Beside func(change int) `json:"-"`
	// Emit reports what a running node says: progress, text, custom. It may
	// be called from any goroutine until Run returns.
	Emit func(Said) `json:"-"`
	// OpenLog begins a stream of what the task says for people who look later:
	// source is a tool or a server of tools, empty for the node itself; stream is
	// "stdout" or "stderr". Writing to it never fails and waits for nothing. What
	// Emit says as text is in the log already. nil outside of a runner.
	OpenLog func(source, stream string) io.WriteCloser `json:"-"`
	// Partial says what the task has produced so far: what is reported of it if
	// it is cancelled or fails. The last value counts.
	Partial func(data any) `json:"-"`
	// Because says in a word why the task ends as it does, where it could in
	// several ways: nodes.<id>.reason. It is called before Run returns.
	Because func(reason string) `json:"-"`
	// Log holds what Note kept when this attempt ran before a crash or a pause,
	// in order; nil: nothing.
	Log []any `json:",omitempty"`
	// Answers are what people said to the questions of Interrupt, by key; nil: nothing.
	Answers map[string]any `json:",omitempty"`
	// Note keeps plain data in the journal, so that the task finds it in Log if
	// it has to run again as the same attempt: what must not be done or paid for
	// twice. It returns when the data is durable; with an error the task should
	// end, since what it does from now on may be lost.
	Note func(data any) error `json:"-"`
	// part begins the ids of the questions that a part of the task asks.
	part string
}

// Said is one message of a running node. Exactly the fields of its Type are set.
type Said struct {
	// Type is "progress", "text", "thinking", "custom", "warning" or
	// "retrying", for a part of the task that is tried again; the runner itself
	// says "tool", from a note of handler.NoteToolCall, "element", when an element of a
	// node with each has ended, "question" and "answer", and "dropped", when the branches
	// that wait at a join end.
	Type    string
	Percent float64        // progress
	Message string         // progress, warning, dropped
	Text    string         // text: a chunk of output for a person; thinking: one of a model's thoughts
	Final   bool           // text: the last chunk; the runner adds an empty one where there is none
	Broken  bool           // text: what came since the last one that was final or broken is void
	Retry   *handler.Retry // retrying
	Name    string         // custom: its type; tool: the tool that was called
	// Data is custom's; element's is an object of index (from 0), item, outcome
	// (success, failure), and how many are done, failed, total; tool's is an object
	// of args, output, is_error, duration_ms and, if the call has one, id; dropped's
	// lists the nodes that failed and those that had arrived.
	Data any
	// Question is what is asked, or was answered by Name: "timeout" when nobody did in
	// time, empty when it is not known.
	Question *view.Pending
}

// Clock tells time; tests give one of their own.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in its own goroutine after d. The returned function
	// stops the timer.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}
