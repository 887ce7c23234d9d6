// What runs ask.

package inspect

import (
	"time"

	"github.com/graphrun/graphrun/runner"
)

// Question is an open question in JSON.
type Question struct {
	Run   string `json:"run"`
	Graph string `json:"graph"`
	// Target is the question as an answer names it.
	Target string  `json:"target"`
	Node   string  `json:"node"`
	Index  *int    `json:"index,omitempty"`
	Key    *string `json:"key"`
	Kind   string  `json:"kind"`
	Prompt string  `json:"prompt"`
	Schema any     `json:"schema"`
	// Fields are the properties of an object that is asked for, in the order of the file.
	Fields []string `json:"fields,omitempty"`
	// Name and Args are those of a tool's call that waits for approval.
	Name    string         `json:"name,omitempty"`
	Args    map[string]any `json:"args,omitempty"`
	Choices []any          `json:"choices"`
	Due     *time.Time     `json:"due"`
}

// Questions are the open questions of a run.
func Questions(result *runner.Result) []Question {
	out := []Question{}
	for _, p := range result.Pending {
		document, _ := p.Schema.(map[string]any)
		choices, _ := document["enum"].([]any)
		out = append(out, Question{
			Run: result.RunID, Graph: result.Graph, Target: p.Target(), Node: p.Node, Index: p.Index, Key: p.Key, Kind: p.Kind,
			Prompt: p.Prompt, Schema: p.Schema, Fields: p.Fields, Name: p.Name, Args: p.Args, Choices: choices, Due: p.Due,
		})
	}
	return out
}
