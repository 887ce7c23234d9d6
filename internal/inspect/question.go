// What runs ask.

package inspect

import (
	"errors"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
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

// AllQuestions are the open questions of the runs that a filter lets through and that may
// go on, those of the run that started first first. unreadable is told of runs whose
// journals can't be read.
func AllQuestions(r *runner.Runner, s store.Store, filter store.RunFilter, unreadable func(id string, err error)) ([]Question, error) {
	filter.Status = []machine.Status{machine.Paused, machine.Running}
	runs, err := s.List(filter)
	out := []Question{}
	for _, line := range slices.Backward(runs) {
		result, err := r.Show(line.ID, runner.Options{})
		switch {
		case err == nil:
			out = append(out, Questions(result)...)
		case !errors.Is(err, store.ErrNoRun): // it may have been deleted meanwhile
			unreadable(line.ID, err)
		}
	}
	return out, err
}
