// Node kinds: the API of handlers, for Go programs and package node.

package runner

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// Failure is an error with a failure kind. Other errors of handlers have the kind failed, timeout
// or cancelled.
type Failure = machine.Failure

// Kind is a kind of node.
type Kind struct {
	// Spec names the kind and its keys, so that files that use it are checked.
	Spec spec.Kind
	// Handler runs a node of the kind. It is called by several goroutines.
	Handler Handler
}

// Handler runs one attempt of a node and returns its output, which must marshal to JSON. It must return
// soon after ctx ends, and leave no work running.
type Handler interface {
	Run(ctx context.Context, task *Task) (any, error)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, task *Task) (any, error)

// Run calls f.
func (f HandlerFunc) Run(ctx context.Context, task *Task) (any, error) { return f(ctx, task) }

// Task is one attempt of one node. Handlers must not modify it. Its JSON is for other processes.
// Outside of a runner, functions and pointers without JSON may be nil.
type Task struct {
	RunID string `json:",omitempty"`
	// Node is the path of the node: its id, or outer/inner in a subgraph.
	Node    string `json:",omitempty"`
	Kind    string `json:",omitempty"`
	Visit   int    `json:",omitempty"` // from 1
	Attempt int    `json:",omitempty"` // from 1
	// Item and Index are the element of an `each`; Index is -1 otherwise.
	Item  any `json:",omitempty"`
	Index int `json:",omitempty"`
	// Place distinguishes tasks of one node and visit. It is Node with the elements (from 0) and the
	// tool calls (from 1) that lead to it: a[2], outer[0]/inner, agent#1/step.
	Place string `json:",omitempty"`
	// Key is the idempotency key: the same for every attempt of the same work.
	Key string `json:",omitempty"`
	// Config holds the evaluated keys of the node's kind as plain data.
	Config map[string]any `json:",omitempty"`
	// Input is the node's input.
	Input any `json:",omitempty"`
	// State holds the state keys that the node may read.
	State map[string]any `json:",omitempty"`
	// Dir is the folder of the graph file, to resolve relative paths.
	Dir string `json:",omitempty"`
	// Graph is the graph of the node.
	Graph *spec.Graph `json:"-"`
	// Tools and Providers are the graph's evaluated declarations by name. They may hold secrets.
	Tools     map[string]any `json:",omitempty"`
	Providers map[string]any `json:",omitempty"`
	// Hooks are those of the node, then those of the runner, for calls of tools and models.
	Hooks []Hooks `json:"-"`
	// RunDir creates the folder of the run unless it exists, and returns its path.
	RunDir func() (string, error) `json:"-"`
	// Scope is shared by all tasks of the run.
	Scope *handler.Scope `json:"-"`
	// Talk is the conversation, for kinds that take part in it (llm, agent, tools).
	Talk *handler.Talk `json:",omitempty"`
	// Models holds what model calls need.
	Models *handler.ModelAccess `json:",omitempty"`
	// WantsText reports whether output must stay text to fit what the node writes; nil means data.
	WantsText func(data any, text string) bool `json:"-"`
	// CallGraph runs a graph that the file declares as a tool. It is nil if there are no such tools,
	// and safe for concurrent use. Run must return its error unless that is a *Failure.
	CallGraph func(ctx context.Context, call handler.GraphCall) (any, error) `json:"-"`
	// AddParallel adds to the number of concurrent calls of the task, so that the run can pause when
	// all of them wait for people. It is nil if CallGraph is.
	AddParallel func(change int) `json:"-"`
	// Emit reports progress, text and custom events. It is safe for concurrent use until Run returns.
	Emit func(Said) `json:"-"`
	// OpenLog opens a stream ("stdout" or "stderr") in the log of the run. source is a tool or a
	// server, or "" for the node itself. Writes never fail or block. Text that Emit gets is logged
	// anyway.
	OpenLog func(source, stream string) io.WriteCloser `json:"-"`
	// SavePartial stores the output so far, in case the task fails. The last value counts.
	SavePartial func(data any) `json:"-"`
	// SetReason sets nodes.<id>.reason. Run must call it before it returns.
	SetReason func(reason string) `json:"-"`
	// Log holds the data that this attempt passed to Note before a crash or a pause, in order.
	Log []any `json:",omitempty"`
	// Answers are the answers to the questions of Interrupt, by key.
	Answers map[string]any `json:",omitempty"`
	// Note stores plain data in the journal, and returns when it is durable. If the attempt runs
	// again, Log holds the data, so that nothing is done or paid for twice. After an error the
	// task should end.
	Note func(data any) error `json:"-"`
	// part is the prefix of question ids of a part of the task.
	part string
}

// Said is one message of a running node. Exactly the fields of its Type are set.
type Said struct {
	// Type is "progress", "text", "thinking", "custom", "warning" or "retrying". The runner also
	// emits "tool", "element", "question", "reminder", "answer" and "dropped" (at a join).
	Type    string
	Percent float64        // progress
	Message string         // progress, warning, dropped
	Text    string         // text: a chunk of output for a person; thinking: a chunk of a model's thoughts
	Final   bool           // text: the last chunk; the runner adds an empty one if the handler sends none
	Broken  bool           // text: the chunks since the last final or broken one are void
	Retry   *handler.Retry // retrying
	Name    string         // custom: its type; tool: the tool
	// Data of custom is the task's. Data of element has index, item, outcome, done, failed and
	// total. Data of tool has args, output, is_error, duration_ms and perhaps id. Data of dropped
	// lists the nodes that failed and those that had arrived.
	Data any
	// Question belongs to question, reminder and answer. Name is the person who answered, "timeout", or
	// "".
	Question *view.Pending
}

// Clock tells the time.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in its own goroutine after d. stop stops the timer.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// Interrupt returns the answer to a question. If there is none yet, it returns an error, which the
// handler must return at once. The task then waits for a person, and runs again as the same attempt.
func (t *Task) Interrupt(question handler.Question) (answer any, err error) {
	answers, err := t.InterruptAll(question)
	return answers[question.Key], err
}

// InterruptAll is like Interrupt for several questions. It returns all answers by key, or the error.
func (t *Task) InterruptAll(questions ...handler.Question) (answers map[string]any, err error) {
	interrupted := &handler.Interrupted{}
	for i := range questions {
		q := &questions[i]
		if _, answered := t.Answers[q.Key]; answered {
			continue
		}
		if err := q.Check(); err != nil {
			return nil, &Failure{Kind: "invalid_input", Message: err.Error()}
		}
		interrupted.Asks = append(interrupted.Asks, machine.Ask{ID: t.part + q.Key, Key: q.Key, Prompt: q.Prompt, Schema: q.Schema, Tool: q.Tool})
	}
	if len(interrupted.Asks) > 0 {
		return nil, interrupted
	}
	return t.Answers, nil
}

// NewPart returns a task for a part of the work, with its own questions and Answers.
func (t *Task) NewPart(name string) *Task {
	own := *t
	own.part = t.part + name + ":"
	own.Answers = map[string]any{}
	for id, answer := range t.Answers {
		if rest, ours := strings.CutPrefix(id, name+":"); ours {
			own.Answers[rest] = answer
		}
	}
	return &own
}
