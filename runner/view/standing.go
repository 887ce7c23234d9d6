// Parts of a result about questions, running nodes, messages and divergences.

package view

import (
	"strconv"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// Pending is an open question.
type Pending struct {
	// Node is the path of the node that asks: outer/inner, or outer[1]/inner in an `each`.
	Node string `json:"node"`
	// Index is the element of Node that asks, from 0, or nil outside of an `each`.
	Index *int `json:"index,omitempty"`
	// Key is the key of a program's question, or nil for a human node.
	Key *string `json:"key"`
	// Kind is "human", "interrupt" for a program, or "tool" for a call to approve.
	Kind   string `json:"kind"`
	Prompt string `json:"prompt"`
	Schema any    `json:"schema"`
	// Fields lists the properties of the object that a human node asks for, in file order.
	Fields []string `json:"fields,omitempty"`
	// Name and Args are the tool and the arguments of a call to approve.
	Name string         `json:"name,omitempty"`
	Args map[string]any `json:"args,omitempty"`
	// Due is when the question times out, or nil.
	Due *time.Time `json:"due,omitempty"`
}

// Target returns how answers name the question: NODE, NODE[INDEX], NODE:KEY.
func (p *Pending) Target() string {
	target := p.Node
	if p.Index != nil {
		target += "[" + strconv.Itoa(*p.Index) + "]"
	}
	if p.Key != nil {
		target += ":" + *p.Key
	}
	return target
}

// PausedAt is a breakpoint. Phase is "before" or "after" the nodes.
type PausedAt struct {
	Phase string   `json:"phase"`
	Nodes []string `json:"nodes"`
}

// RunningNode is a node execution that has started and not ended.
type RunningNode struct {
	// Node is the path of the node: outer/inner in a subgraph.
	Node    string `json:"node"`
	Rank    int    `json:"rank"`
	Visit   int    `json:"visit"`
	Attempt int    `json:"attempt"`
	// Doing is "running", "retrying", "waiting" (for time) or "asking" (people).
	Doing string    `json:"doing"`
	Since time.Time `json:"since"`
}

// Spoken holds the messages that a task has added to the conversation.
type Spoken struct {
	// Node is the path of the node, Place that path with elements: s[1]/write[0].
	Node    string `json:"node"`
	Place   string `json:"place"`
	Visit   int    `json:"visit"`
	Attempt int    `json:"attempt"`
	// Dropped is how many of the oldest messages the first message replaces as a summary.
	Dropped int `json:"dropped,omitempty"`
	// Messages are in order and without the reasoning of models.
	Messages []machine.Message `json:"messages"`
}

// ConversationSink is a runner.Sink for the conversation of recorded runs: Replay, Follow, and
// Show with History.
type ConversationSink interface {
	Spoken(s *Spoken) error
}

// Divergence is the first step at which a replay differs from the record.
type Divergence struct {
	// Step and Node are the execution that took another path, if there is one.
	Step int    `json:"step,omitempty"`
	Node string `json:"node,omitempty"`
	// Recorded and Now are the nodes that followed in the record, and that follow now.
	Recorded []string `json:"recorded"`
	Now      []string `json:"now"`
	// RecordedEdges and NowEdges are the indexes of the fired edges in each graph. -1 is a label of
	// `ends`.
	RecordedEdges []int `json:"recorded_edges,omitempty"`
	NowEdges      []int `json:"now_edges,omitempty"`
	// Why has the reasons in the replay, with values of conditions, RecordedWhy those in the record.
	Why         []string `json:"why"`
	RecordedWhy []string `json:"recorded_why,omitempty"`
	// NeverRan are the nodes of Now that the recorded run never executed.
	NeverRan []string `json:"never_ran,omitempty"`
}
