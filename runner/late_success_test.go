package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// A task that succeeds although its run was just cancelled does not run again: a resume uses its
// output. This holds for a node of the flow, of a subgraph, and for an element.
func TestLateSuccessIsKept(t *testing.T) {
	const late = "late: {kind: work}"
	for name, text := range map[string]string{
		"node":     "start: late\nnodes: {" + late + "}\nedges: [{from: late, to: END}]\n",
		"subgraph": "start: g\nnodes: {g: {kind: graph, graph: '#inner'}}\nedges: [{from: g, to: END}]\ngraphs: {inner: {start: late, nodes: {" + late + "}, edges: [{from: late, to: END}]}}\n",
		"element":  "start: late\nnodes: {late: {kind: work, each: '[1, 2]'}}\nedges: [{from: late, to: END}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			var mu sync.Mutex
			ran := map[string]int{}
			work := runner.Kind{Spec: spec.Kind{Name: "work"}, Handler: runner.HandlerFunc(func(task context.Context, at *runner.Task) (any, error) {
				mu.Lock()
				ran[fmt.Sprint(at.Place)]++
				again := ran[fmt.Sprint(at.Place)] > 1
				mu.Unlock()
				if again {
					return "done again", nil
				}
				cancel()
				<-task.Done()
				return "done in time", nil
			})}
			r, err := runner.New(runner.Config{Kinds: []runner.Kind{work}, Store: &store.Memory{}})
			if err != nil {
				t.Fatal(err)
			}
			g, found := spec.Parse("late.yaml", []byte("graphrun: v1\nname: late\n"+text), spec.Options{Kinds: r.Kinds()})
			if found.HasErrors() {
				t.Fatal(found[0].Message)
			}
			result, err := r.Run(ctx, g, runner.Options{RunID: "r"})
			if err != nil || result.Status != "cancelled" {
				t.Fatalf("%v, %+v", err, result)
			}
			result, err = r.Resume(context.Background(), "r", runner.Options{})
			if err != nil || result.Status != "completed" || !strings.Contains(fmt.Sprint(result.Output), "done in time") {
				t.Fatalf("%v, %+v", err, result)
			}
			for at, n := range ran {
				if n != 1 {
					t.Errorf("%s ran %d times", at, n)
				}
			}
		})
	}
}
