package runner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// An answer that arrives just when its question in a subgraph times out is used or refused, and
// its sender learns which.
func TestAnswerAtItsTimeout(t *testing.T) {
	inner := strings.Replace(fmt.Sprintf(asksWhile, "inner"), `prompt: "a?"`, `prompt: "a?", timeout: 1h, default: nobody`, 1)
	used, refused := 0, 0
	for range 40 {
		hold, asked := make(chan bool), make(chan bool, 9)
		clock := newFakeClock()
		cfg := runner.Config{
			Store: &store.Memory{}, Load: func(string) ([]byte, error) { return []byte(inner), nil },
			Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{"hold": func(context.Context, *runner.Task) (any, error) {
				<-hold
				return nil, nil
			}})},
		}
		f := prepareFlow(t, cfg, "nodes: {a: {kind: graph, graph: inner.yaml}}\nedges: [{from: a, to: END}]\noutput: nodes.a.output.state.x\n")
		end := startFlow(t, t.Context(), f, runner.Options{RunID: "r", Clock: clock, Sink: sinkFunc(func(e *runner.Event) {
			if e.Said != nil && e.Said.Type == "question" {
				asked <- true
			}
		})})
		<-asked
		r, err := runner.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan error)
		go func() {
			_, err := r.Answer(t.Context(), "r", []store.GivenAnswer{{Target: "a/a", Text: "yes"}}, "ann")
			answered <- err
		}()
		fired := make(chan bool)
		go func() {
			clock.fire(time.Hour)
			close(fired)
		}()
		err = <-answered
		close(hold)
		result := end()
		clock.AfterFunc(time.Hour, func() {}) // an answer may have stopped the timer
		<-fired
		want := "yes"
		if err != nil {
			want = "nobody"
			if !strings.Contains(err.Error(), `question "a/a" timed out without an answer`) {
				t.Errorf("refused with %v", err)
			}
			refused++
		} else {
			used++
		}
		if result.Status != machine.Completed || result.Output != want {
			t.Fatalf("%s with %v; the answer was given %v", result.Status, result.Output, err)
		}
	}
	t.Logf("%d were used, %d refused", used, refused)
}
