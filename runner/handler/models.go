// Package handler has what node kinds use of a run besides the keys, the input and
// the state of their Task: the conversation (Talk), models and the budget
// (ModelAccess), questions to people (Question), graphs as tools (GraphCall), what
// lives as long as the run (Scope). A kind that computes something and returns it
// needs none of it; those of package node are built on it.
package handler

import (
	"context"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// Reservation is the most that a call may use.
type Reservation struct {
	// Input is an estimate of the tokens that are sent.
	Input int
	// Output is how long the answer may get, in tokens; 0: nobody has said.
	Output int
	// Cost is the price in US dollars of so many tokens; known is false when the
	// model has no known price.
	Cost func(input, output int) (usd float64, known bool)
}

// Reserved is room in a budget.
type Reserved struct {
	// Output is how long the answer may get at most; 0: there is no limit.
	Output int
	once   sync.Once
	settle func(call Usage)
}

// NewReserved returns a reservation. settle is called once.
func NewReserved(output int, settle func(call Usage)) *Reserved {
	return &Reserved{Output: output, settle: settle}
}

// Settle releases the reservation and counts the call.
func (r *Reserved) Settle(call Usage) { r.once.Do(func() { r.settle(call) }) }

// ToolResult is the result of a call of a tool.
type ToolResult struct {
	// Output is plain data; of an error its text.
	Output  any
	IsError bool
	// Details are what else is known of an error; nil: nothing.
	Details map[string]any
}

// ModelCall is a call of a model, as hooks see it.
type ModelCall struct {
	Model string // provider/name
	Role  string // chat, router, judge or compact
	// System and Messages are what is asked. BeforeModel may put others in their
	// place: they are asked this once, and the conversation stays as it is. The
	// messages of the list itself must not be changed.
	System   string
	Messages []Message
}

// ToolAsk is a call of a tool that waits for approval.
type ToolAsk = machine.ToolAsk

// Message is one turn of a conversation.
type Message = machine.Message

// ToolCall is one call of a tool that a model asks for.
type ToolCall = machine.ToolCall

// Part is a piece of a message that is more than a text.
type Part = machine.Part

// Usage is the usage of a call of a model.
type Usage = machine.Usage

// ModelParam is a parameter of model nodes that the caller of a run sets.
type ModelParam = machine.ModelParam

// ModelScope is what a graph declares of models: providers by name, and models by
// role, in which paths are relative to Dir.
type ModelScope struct {
	Models    map[string]string
	Providers map[string]any
	Dir       string
}

// ModelAccess is what a task that calls models has of its run. It is safe for
// concurrent use.
type ModelAccess struct {
	// Goal is the goal of the run in words; OwnGoal says that it is the graph's.
	Goal    string
	OwnGoal bool
	// Overrides are the models that the caller of the run chose, by role; paths
	// in them are relative to Dir.
	Overrides map[string]string
	Dir       string
	// Around are the models of the graphs around the task's, the run's own last.
	Around []ModelScope
	// Params are the parameters that the caller set for the task's node, by key.
	Params map[string]any
	// Secrets are the texts that the run masks; a recording must not hold them.
	Secrets []string `json:"-"`
	// Turns counts, by role, the calls that the visit made in earlier attempts.
	Turns map[string]int
	// Answered are the calls that scripts answered before the run was resumed.
	Answered []Usage
	// ModelDesk is where the run keeps account of calls; it is never nil in a handler.
	ModelDesk `json:"-"`
}

// ModelDesk keeps account of the calls of models that a task makes.
type ModelDesk interface {
	// Note journals a finished call: what Log is to hold of it, and what it came
	// to. It returns when that is durable; see Task.Note.
	Note(data any, call Usage) error
	// Reserve keeps room in the run's budget for a call; see Reservation.
	Reserve(r Reservation) (*Reserved, error)
	// Hide masks a text in everything that the run shows from now on; "" masks nothing.
	Hide(secret string)
	// Sleep waits, by the clock of the run.
	Sleep(ctx context.Context, d time.Duration) error
	// Now is the time by that clock: what a call took is measured with it.
	Now() time.Time
}
