// What a run waits for, and what it is at.

package view

import (
	"strconv"
	"time"
)

// Pending is a question that a run waits for.
type Pending struct {
	// Node is the path of the node that asks: outer/inner in a subgraph, and
	// outer[1]/inner in the second element of an `each` of subgraphs.
	Node string `json:"node"`
	// Index is the element of Node that asks, from 0; nil outside of an `each`.
	Index *int `json:"index,omitempty"`
	// Key is the name that a program gave its question; nil for a human node.
	Key *string `json:"key"`
	// Kind is "human", "interrupt" for the question of a program, or "tool" for a
	// call that waits for approval.
	Kind   string `json:"kind"`
	Prompt string `json:"prompt"`
	Schema any    `json:"schema"`
	// Fields lists the properties of the object that a human node asks for, in file order.
	// It is nil if the node asks for something else.
	Fields []string `json:"fields,omitempty"`
	// Name and Args are the tool and the arguments of a call that waits.
	Name string         `json:"name,omitempty"`
	Args map[string]any `json:"args,omitempty"`
	// Due is when the time of who is asked ends; nil: never.
	Due *time.Time `json:"due,omitempty"`
}

// Target names the question as an answer does: NODE, NODE[INDEX], NODE:KEY.
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
	// Doing is "running", "retrying" (between attempts), "waiting" (for time to
	// pass) or "asking" (people).
	Doing string    `json:"doing"`
	Since time.Time `json:"since"`
}
