package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// asksWhile is a graph that asks in one branch while another works.
const asksWhile = `graphrun: v1
name: %s
start: s
state: {x: {type: string}}
nodes:
  s: {kind: pass}
  a: {kind: human, prompt: "a?", writes: [x]}
  w: {kind: work, do: hold}
  j: {kind: pass, join: {wait: all}}
edges: [{from: s, to: [a, w]}, {from: [a, w], to: j}, {from: j, to: END}]
`

// A driver accepts an answer from another process while other branches run, also in a nested
// graph. A second answer is refused and names the first.
func TestAnswerWhileOthersRun(t *testing.T) {
	inner := fmt.Sprintf(asksWhile, "inner")
	middle := strings.Replace(fmt.Sprintf(asksWhile, "middle"), `kind: human, prompt: "a?", writes: [x]`, "kind: graph, graph: inner.yaml, writes: {x: output.state.x}", 1)
	for _, test := range []struct{ node, target, state string }{
		{`kind: human, prompt: "a?", writes: [x]`, "a", "yes"},
		{"kind: graph, graph: inner.yaml, writes: {x: output.state.x}", "a/a", "yes"},
		{"kind: graph, graph: middle.yaml, writes: {x: output.state.x}", "a/a/a", "yes"},
		{`kind: graph, graph: inner.yaml, each: "[1, 2]", writes: {x: "output[1].state.x"}`, "a[1]/a", "yes"},
	} {
		t.Run(test.target, func(t *testing.T) {
			hold, asked := make(chan bool), make(chan string, 9)
			kept := &store.Memory{}
			cfg := runner.Config{
				Store: kept, Load: func(path string) ([]byte, error) {
					if strings.HasSuffix(path, "middle.yaml") {
						return []byte(middle), nil
					}
					return []byte(inner), nil
				},
				Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{"hold": func(context.Context, *runner.Task) (any, error) {
					<-hold
					return nil, nil
				}})},
			}
			text := strings.TrimPrefix(fmt.Sprintf(asksWhile, "t"), "graphrun: v1\nname: t\nstart: s\n")
			text = strings.Replace(text, `kind: human, prompt: "a?", writes: [x]`, test.node, 1)
			f := prepareFlow(t, cfg, strings.NewReplacer("s: {kind: pass}\n  a: ", "a: {kind: pass}\n  b: ", "[{from: s, to: [a, w]}, {from: [a, w]", "[{from: a, to: [b, w]}, {from: [b, w]").Replace(text))
			target := "b" + test.target[1:]
			end := startFlow(t, t.Context(), f, runner.Options{RunID: "r", Answers: answerOther(target), Sink: sinkFunc(func(e *runner.Event) {
				if e.Said != nil && e.Said.Type == "question" {
					asked <- e.Said.Question.Target()
				}
			})})
			for got := ""; got != target; got = <-asked {
				continue
			}
			r, err := runner.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			give := func(text, by string) error {
				driven, err := r.Answer(t.Context(), "r", []store.GivenAnswer{{Target: target, Text: text}}, by)
				if !driven {
					t.Error("nobody drives the run")
				}
				return err
			}
			var refused *runner.InputError
			if err := give("yes", "ann"); err != nil {
				t.Error(err)
			}
			if err := give("no", "bob"); !errors.As(err, &refused) || !strings.Contains(err.Error(), `was answered "yes" by ann at`) {
				t.Errorf("a second answer gives %v", err)
			}
			close(hold)
			result := end()
			if result.Status != machine.Completed || result.State["x"] != test.state {
				t.Errorf("%s, state %v", result.Status, result.State)
			}
			shown, err := r.Replay("r", 0, -1, runner.Options{})
			if err != nil || shown.State["x"] != test.state {
				t.Errorf("the replay has %v (%v)", shown, err)
			}
		})
	}
}

// answerOther returns an answer to the other element's question.
func answerOther(target string) map[string][]string {
	if strings.Contains(target, "[1]") {
		return map[string][]string{strings.Replace(target, "[1]", "[0]", 1): {"other"}}
	}
	return nil
}

type sinkFunc func(e *runner.Event)

func (f sinkFunc) Event(e *runner.Event) error {
	f(e)
	return nil
}

// branches is a flow of two branches that wait. Its first line lacks the end.
const branches = `nodes: {a: {kind: pass}, b: {kind: wait, for: 1h}, c: {kind: wait, for: 2h}, d: {kind: pass, join: {wait: any}}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: d}, {from: d, to: END}]
parallel: {on_failure: fail_all`

// formatEnding returns how a run ended: its status, and which node failed how.
func formatEnding(result *runner.Result) string {
	if result == nil {
		return "no result"
	}
	out := string(result.Status) + ": "
	if result.Error != nil {
		out += strings.TrimSpace(result.Error.Kind + " " + result.Error.Node)
	}
	return out
}

// A run that only waits, for longer than Park, ends its process. When the wait is over, it
// continues with the remaining timeouts, even if a clock was set back. If a timeout is earlier than
// the end of the wait, the run continues at that timeout.
func TestPark(t *testing.T) {
	for _, test := range []struct {
		name, flow string
		park       time.Duration
		reason     string
		due        time.Duration
		ends       string
	}{
		{"a wait", "nodes: {a: {kind: wait, for: 1h}}", time.Minute, "wait", time.Hour, ""},
		{"a wait and a person", `nodes: {a: {kind: pass}, b: {kind: wait, for: 1h}, c: {kind: human, prompt: "?", timeout: 10m, default: d}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: END}]`, time.Minute, "wait", 10 * time.Minute, ""},
		{"a wait in a subgraph", "nodes: {a: {kind: graph, graph: child.yaml}}", time.Minute, "wait", 2 * time.Hour, ""},
		{"a time limit that ends before it", "limits: {timeout: 20m}\nnodes: {a: {kind: wait, for: 1h}}", time.Minute, "wait", 20 * time.Minute, "limit: timeout"},
		{"branches whose time ends before it", branches + ", branch_timeout: 20m}", time.Minute, "wait", 20 * time.Minute, "failed: timeout b"},
		{"branches whose time ends after it", branches + ", branch_timeout: 2h}", time.Minute, "wait", time.Hour, ""},
		{"a subgraph whose attempt ends before it", "nodes: {a: {kind: graph, graph: child.yaml, timeout: 20m}}", time.Minute, "wait", 20 * time.Minute, "failed: timeout a"},
		{"a subgraph whose attempt ends after it", "nodes: {a: {kind: graph, graph: child.yaml, timeout: 150m}}", time.Minute, "wait", 2 * time.Hour, ""},
		{"elements of which the attempts end before it", "nodes: {a: {kind: graph, graph: child.yaml, each: '[1, 2]', timeout: 20m}}", time.Minute, "wait", 20 * time.Minute, "failed: timeout a"},
		{"a subgraph of little time", "nodes: {a: {kind: graph, graph: brief.yaml}}", time.Minute, "wait", 20 * time.Minute, "failed: child_failed a"},
		{"a subgraph in a subgraph of little time", "nodes: {a: {kind: graph, graph: around.yaml}}", time.Minute, "wait", 20 * time.Minute, "failed: child_failed a"},
		{"a time limit that ends after it", "limits: {timeout: 2h}\nnodes: {a: {kind: wait, for: 1h}}", time.Minute, "wait", time.Hour, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := newFakeClock()
			cfg := runner.Config{Clock: clock, Store: &store.Memory{}, Load: func(path string) ([]byte, error) {
				const child = "graphrun: v1\nname: child\nstart: w\nnodes: {w: {kind: wait, for: 2h}}\nedges: [{from: w, to: END}]"
				switch {
				case strings.HasSuffix(path, "brief.yaml"):
					return []byte(child + "\nlimits: {timeout: 20m}"), nil
				case strings.HasSuffix(path, "around.yaml"):
					return []byte(strings.Replace(child, "kind: wait, for: 2h", "kind: graph, graph: brief.yaml", 1)), nil
				}
				return []byte(child), nil
			}}
			flow := test.flow
			if !strings.Contains(flow, "edges:") {
				flow += "\nedges: [{from: a, to: END}]"
			}
			began := clock.Now()
			result := runPrepared(t, prepareFlow(t, cfg, flow), runner.Options{RunID: "r", Park: test.park})
			if result.Status != machine.Paused || result.Reason != test.reason || result.Due == nil || !result.Due.Equal(began.Add(test.due)) {
				t.Fatalf("%s: %s, due %v; want %s in %s", result.Status, result.Reason, result.Due, test.reason, test.due)
			}
			r, err := runner.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			clock.mu.Lock()
			clock.now = began.Add(-24 * time.Hour) // it was set back
			clock.mu.Unlock()
			if result, err = r.Resume(t.Context(), "r", runner.Options{Park: test.due / 2}); err != nil || result.Reason != test.reason {
				t.Fatalf("%v, %v", result, err)
			}
			if took := time.Duration(result.Duration); took < 0 {
				t.Errorf("it took %s", took)
			}
			clock.mu.Lock()
			clock.now = began.Add(3 * time.Hour)
			clock.mu.Unlock()
			result, err = r.Resume(t.Context(), "r", runner.Options{Park: test.park})
			if test.ends == "" {
				test.ends = "completed: "
			}
			if got := formatEnding(result); err != nil || got != test.ends || result.Due != nil {
				t.Errorf("when its time has come: %s, %v; want %s", got, err, test.ends)
			}
		})
	}
}
