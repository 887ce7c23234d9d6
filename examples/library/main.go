// Command library runs a graph with a node kind of its own; docs/library.md
// shows it.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

const flow = `
graphrun: v1
name: shout
start: ask
state:
  text: {type: string, required: true}
nodes:
  ask: {kind: shout, text: "{{ text }}", writes: [text]}
edges:
  - {from: ask, to: END}
`

func main() {
	// A kind consists of its keys, with which files are checked, and a handler.
	shout := runner.Kind{
		Spec: spec.Kind{
			Name: "shout",
			Doc:  "Makes a text loud.",
			Keys: []spec.Key{{Name: "text", Type: spec.TypeString, Role: spec.RoleTemplate, Required: true, Doc: "The text."}},
		},
		Handler: runner.HandlerFunc(func(_ context.Context, task *runner.Task) (any, error) {
			return strings.ToUpper(fmt.Sprint(task.Config["text"])), nil
		}),
	}
	r, err := runner.New(runner.Config{Kinds: append(node.Kinds(node.Options{}), shout)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	graph, findings := spec.Parse("shout.yaml", []byte(flow), spec.Options{Kinds: r.Kinds()})
	findings = append(findings, spec.Check(graph)...)
	for _, f := range findings.Sort() {
		at := f.File.Position(f.Span.From)
		fmt.Fprintf(os.Stderr, "%s:%d:%d: %s\n", f.File.Name, at.Line, at.Column, f.Message)
	}
	if findings.HasErrors() {
		os.Exit(3)
	}
	result, err := r.Run(context.Background(), graph, runner.Options{Input: map[string]any{"text": "hello"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(result.Status, result.Path, result.Output)
}
