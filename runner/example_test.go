package runner_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// A custom node kind has keys, against which files are checked, and a handler, which gets them
// with all templates rendered.
func Example() {
	shout := runner.Kind{
		Spec: spec.Kind{Name: "shout", Keys: []spec.Key{
			{Name: "text", Type: spec.TypeString, Role: spec.RoleTemplate, Required: true, Doc: "What to shout."},
		}},
		Handler: runner.HandlerFunc(func(_ context.Context, task *runner.Task) (any, error) {
			return strings.ToUpper(fmt.Sprint(task.Config["text"])), nil
		}),
	}
	r, err := runner.New(runner.Config{Kinds: []runner.Kind{shout}})
	if err != nil {
		fmt.Println(err)
		return
	}
	graph, findings := spec.Parse("echo.yaml", []byte(`
graphrun: v1
name: echo
start: call
state: {said: {type: string, default: hello}}
nodes:
  call: {kind: shout, text: "{{ said }}!", writes: [said]}
edges:
  - {from: call, to: call, when: visits.call < 3, label: echo}
  - {from: call, to: END}
`), spec.Options{Kinds: r.Kinds()})
	if findings = append(findings, spec.Check(graph)...); findings.HasErrors() {
		fmt.Println(findings.Sort()[0].Message)
		return
	}
	result, err := r.Run(context.Background(), graph, runner.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status, result.Quality, result.Path, result.Output)
	// Output: completed clean [call call call] HELLO!!!
}
