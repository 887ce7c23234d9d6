// The questions, breakpoints and running nodes of a run.

package view

import (
	"strconv"
	"time"
)

// Pending is an open question.
type Pending struct {
	// Node is the path of the node that asks: outer/inner, or outer[1]/inner in an `each`.
	Node string `json:"node"`
	// Index is the element of Node that asks, from 0, or nil outside of an `each`.
	Index *int `json:"index,omitempty"`
	// Key is the program's name for its question, or nil for a human node.
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

// Target returns the name of the question in answers: NODE, NODE[INDEX], NODE:KEY.
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

// PausedAt is a breakpoint: phase "before" or "after" some nodes.
type PausedAt struct {
	Phase string   `json:"phase"`
	Nodes []string `json:"nodes"`
}

// RunningNode is a node execution that has begun and not ended.
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
