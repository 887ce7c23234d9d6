// Package handler has the types with which node kinds use a run: the conversation (Talk), models and
// the budget (ModelAccess), questions to people (Question), graphs as tools (GraphCall), and values
// that live as long as the run (Scope).
package handler

import (
	"context"
	"sync"
	"time"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner/machine"
)

// Reservation is the maximum that a call may use.
type Reservation struct {
	Input  int `json:"input"`  // tokens to send, estimated
	Output int `json:"output"` // maximum tokens of the answer; 0 if there is no limit
	// Known means that the price is known: Base dollars, plus Each per token of the answer.
	Known bool    `json:"known"`
	Base  float64 `json:"base"`
	Each  float64 `json:"each"`
}

// Cost returns the price of the call in US dollars if its answer has output tokens.
func (r *Reservation) Cost(output int) float64 { return r.Base + r.Each*float64(output) }

// Reserved is a part of a budget that is reserved for a call.
type Reserved struct {
	Output int // most tokens of the answer; 0 if there is no limit
	once   sync.Once
	settle func(call Usage)
}

// NewReserved returns a reservation. It calls settle once.
func NewReserved(output int, settle func(call Usage)) *Reserved {
	return &Reserved{Output: output, settle: settle}
}

// Settle releases the reservation and counts the call.
func (r *Reserved) Settle(call Usage) { r.once.Do(func() { r.settle(call) }) }

// ToolResult is the answer of a tool call.
type ToolResult = model.ToolAnswer

// ModelCall is a model call, for hooks.
type ModelCall struct {
	Model string // provider/name
	Role  string // chat, router, judge or compact
	// System and Messages are sent. BeforeModel may replace them, but not modify messages.
	System   string
	Messages []Message
}

// ToolAsk is a tool call that waits for approval.
type ToolAsk = machine.ToolAsk

// Message is one turn of a conversation.
type Message = machine.Message

// ToolCall is a tool call that a model requests.
type ToolCall = machine.ToolCall

// Part is a piece of a message that has more than text.
type Part = machine.Part

// Usage is the usage of a model call.
type Usage = machine.Usage

// ModelParam is a parameter of model nodes that the caller of a run sets.
type ModelParam = machine.ModelParam

// ModelScope holds the models of a graph by role and its providers by name, with paths relative to Dir.
type ModelScope struct {
	Models    map[string]string
	Providers map[string]any
	Dir       string
}

// ModelAccess is what a task needs to call models. It is safe for concurrent use.
type ModelAccess struct {
	Goal    string // of the run, as text
	OwnGoal bool   // Goal is the graph's own goal
	// Overrides are the caller's models by role, with paths relative to Dir.
	Overrides       map[string]string
	Dir             string
	Around          []ModelScope   // the graphs around the graph of the task, outermost last
	Params          map[string]any // set for the node by the caller, by key
	Secrets         []string       `json:"-"` // texts that a recording must not hold
	Turns           map[string]int // calls of the visit in earlier attempts, by role
	Answered        []Usage        // calls that scripts answered before the run was resumed
	ModelAccounting `json:"-"`     // never nil in a handler
}

// ModelAccounting accounts for the model calls of a task.
type ModelAccounting interface {
	// Note stores a finished call and its data in the journal, and returns when they are durable.
	Note(data any, call Usage) error
	// Reserve reserves tokens of the run's budget for a call.
	Reserve(r Reservation) (*Reserved, error)
	// Hide masks a text, unless it is "", in everything that the run emits from now on.
	Hide(secret string)
	// Sleep waits by the clock of the run.
	Sleep(ctx context.Context, d time.Duration) error
	// Now returns the time of the run.
	Now() time.Time
}

// Talk is the conversation of a task, and the messages that the task adds to it unless it fails.
type Talk struct {
	machine.Talk
	mu    sync.Mutex
	delta machine.TalkDelta
}

// AddMessages adds messages, in order.
func (t *Talk) AddMessages(messages ...Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delta.Add = append(t.delta.Add, messages...)
}

// Compact replaces the oldest messages with a summary.
func (t *Talk) Compact(oldest int, summary Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delta.Drop, t.delta.Summary = oldest, &summary
}

// Delta returns the changes of the conversation by the task, or nil.
func (t *Talk) Delta() *machine.TalkDelta {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.delta.Drop == 0 && len(t.delta.Add) == 0 {
		return nil
	}
	out := t.delta
	return &out
}
