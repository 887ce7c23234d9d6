package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

func diffJSON(want, got any) string { return cmp.Diff(want, got) }

func returnNil(context.Context, *runner.Task) (any, error) { return nil, nil }

func TestNewRefuses(t *testing.T) {
	handler := runner.HandlerFunc(returnNil)
	for name, c := range map[string]struct {
		kinds []runner.Kind
		says  string
	}{
		"no name":    {[]runner.Kind{{Handler: handler}}, `""`},
		"no handler": {[]runner.Kind{{Spec: spec.Kind{Name: "x"}}}, `"x"`},
		"twice":      {[]runner.Kind{{Spec: spec.Kind{Name: "x"}, Handler: handler}, {Spec: spec.Kind{Name: "x"}, Handler: handler}}, `"x" is given twice`},
		"set":        {[]runner.Kind{{Spec: spec.Kind{Name: "set"}, Handler: handler}}, `"set"`},
	} {
		if _, err := runner.New(runner.Config{Kinds: c.kinds}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.says)
		}
	}
}

// Prepare refuses a graph that its runner can't run.
func TestPrepareRefuses(t *testing.T) {
	r, err := runner.New(runner.Config{Kinds: []runner.Kind{workKind(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	g, found := spec.Parse("flow.yaml", []byte(snapshotHeader+"nodes: {a: {kind: llm, model: m/x, prompt: hi}, b: {kind: exec, command: [x]}}\nedges: [{from: a, to: b}, {from: b, to: END}]"), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatal(found[0].Message)
	}
	_, err = r.Run(context.Background(), g, runner.Options{})
	var invalid *runner.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Diagnostics) != 2 {
		t.Fatalf("error %v, want two findings", err)
	}
	if text := err.Error(); !strings.Contains(text, "flow.yaml:4:19") || !strings.Contains(text, `"llm"`) || !strings.Contains(text, ", pass, set, wait, work") || !strings.Contains(text, "1 more") {
		t.Errorf("error %q", text)
	}
}

// A handler gets every field of its Task.
func TestTask(t *testing.T) {
	var seen []runner.Task
	result := run(t, `
state: {n: {type: integer}, hidden: {type: integer, default: 1}}
nodes:
  a: {kind: pass}
  b: {kind: work, do: look, with: ["{{ n }}", "n is {{ n }}"], reads: [n], retry: {max_attempts: 2, initial_interval: 1ms}}
edges: [{from: a, to: b, transform: {v: n * 2}}, {from: b, to: END}]`, map[string]runner.HandlerFunc{
		"look": func(_ context.Context, task *runner.Task) (any, error) {
			seen = append(seen, *task)
			if task.Attempt == 1 {
				return nil, errors.New("again")
			}
			return nil, nil
		},
	}, runner.Options{RunID: "my-run", Input: map[string]any{"n": 4}, Dir: "some/folder"})
	wantResult(t, result, machine.Completed, "a b", "")
	if len(seen) != 2 || seen[0].Key == "" || seen[0].Key != seen[1].Key {
		t.Fatalf("seen %+v", seen)
	}
	for i, task := range seen {
		key := task.Key
		if task.Graph == nil || task.Graph.Node("b") == nil || task.Scope == nil {
			t.Error("a task does not know its graph and scope")
		}
		task.Emit, task.OpenLog, task.Note, task.Key, task.Graph, task.Scope, task.RunDir = nil, nil, nil, "", nil, nil, nil
		task.Tools, task.Providers, task.Models, task.SavePartial, task.SetReason, task.Hooks = nil, nil, nil, nil, nil, nil
		want := runner.Task{
			RunID: "my-run", Node: "b", Kind: "work", Visit: 1, Attempt: i + 1, Index: -1, Place: "b", Dir: "some/folder",
			Config: map[string]any{"do": "look", "with": []any{4, "n is 4"}},
			Input:  map[string]any{"v": 8}, State: map[string]any{"n": 4},
		}
		if diff := cmp.Diff(want, task, cmpopts.IgnoreUnexported(runner.Task{})); diff != "" {
			t.Errorf("attempt %d with key %s (-want +got):\n%s", i+1, key, diff)
		}
	}
}

// A node's own hooks come before the run's.
func TestHooks(t *testing.T) {
	type calls []string
	hooks := func(log *calls, name string) runner.Hooks {
		return runner.Hooks{
			BeforeNode: func(_ context.Context, task *runner.Task) (*runner.Reply, error) {
				*log = append(*log, fmt.Sprintf("%s before %s %d", name, task.Node, task.Attempt))
				if name == "node" && task.Attempt == 1 {
					return nil, errors.New("not yet")
				}
				return nil, nil
			},
			AfterNode: func(_ context.Context, task *runner.Task, output any) (any, error) {
				*log = append(*log, fmt.Sprintf("%s after %s %v", name, task.Node, output))
				if task.Attempt == 2 && name == "run" && task.Node == "b" {
					return nil, &runner.Failure{Kind: "tool", Message: "refused"}
				}
				return fmt.Sprint(output, " ", name), nil
			},
			OnError: func(_ context.Context, task *runner.Task, failure *runner.Failure) *runner.Reply {
				*log = append(*log, fmt.Sprintf("%s error %s %d %s", name, task.Node, task.Attempt, failure.Kind))
				return nil
			},
		}
	}
	var log calls
	f := prepareFlow(t, runner.Config{
		Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
			"it": func(_ context.Context, task *runner.Task) (any, error) {
				log = append(log, fmt.Sprintf("run %s %d", task.Node, task.Attempt))
				return "out", nil
			},
		})},
		Hooks: hooks(&log, "run"), NodeHooks: map[string]runner.Hooks{"b": hooks(&log, "node"), "c": {}},
	}, `
retry: {max_attempts: 3, initial_interval: 1ms}
nodes: {a: {kind: pass}, b: {kind: work, do: it}, c: {kind: work, do: it}}
edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: END}]`)
	got := runPrepared(t, f, runner.Options{})
	wantResult(t, got, machine.Completed, "a b c", "")
	want := calls{
		"node before b 1", "node error b 1 failed", "run error b 1 failed",
		"node before b 2", "run before b 2", "run b 2", "node after b out", "run after b out node", "node error b 2 tool", "run error b 2 tool",
		"node before b 3", "run before b 3", "run b 3", "node after b out", "run after b out node",
		"run before c 1", "run c 1", "run after c out",
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if got.Output != "out run" {
		t.Errorf("output %v", got.Output)
	}
}

// decider gives the answers of a list, in order.
type decider struct {
	answers []string
	asked   []handler.Choice
}

func (d *decider) Decide(_ context.Context, _ *runner.Task, choice handler.Choice) (target, reasoning string, err error) {
	d.asked = append(d.asked, choice)
	target = d.answers[0]
	d.answers = d.answers[1:]
	if target == "error" {
		return "", "", errors.New("no idea")
	}
	return target, "because", nil
}

func TestDecider(t *testing.T) {
	flow := `
goal: get it done
nodes:
  a: {kind: work, do: it}
  b: {kind: pass, description: second best}
  c: {kind: pass}
edges:
  - {from: a, to: b, condition: llm_decide}
  - {from: a, to: c, condition: llm_decide, description: best, fallback: true}
  - {from: [b, c], to: END}`
	kinds := []runner.Kind{workKind(map[string]runner.HandlerFunc{"it": func(context.Context, *runner.Task) (any, error) { return "out", nil }})}
	for _, c := range []struct {
		answer, path string
		quality      machine.Quality
		why          string
	}{
		{"b", "a b", machine.Clean, "chosen by the router: because"},
		{"c", "a c", machine.Clean, "not chosen by the router"},
		{"END", "a c", machine.Degraded, `"END"`},
		{"error", "a c", machine.Degraded, "no idea"},
	} {
		t.Run(c.answer, func(t *testing.T) {
			d := &decider{answers: []string{c.answer}}
			events := &recorder{}
			got := runPrepared(t, prepareFlow(t, runner.Config{Kinds: kinds, Decider: d}, flow), runner.Options{Sink: events})
			wantResult(t, got, machine.Completed, c.path, "")
			if got.Quality != c.quality {
				t.Errorf("quality %s, want %s", got.Quality, c.quality)
			}
			want := []handler.Choice{{Output: "out", Place: machine.Place{Node: "a", Visit: 1, Rank: 1}, Trail: []string{"a"}, Candidates: []machine.Option{
				{Target: "b", Description: "second best"}, {Target: "c", Description: "best"},
			}}}
			for i := range d.asked {
				d.asked[i].Graph = nil
			}
			if diff := cmp.Diff(want, d.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if why := events.ofType(runner.EdgesResolved)[0].Candidates[0].Why; !strings.Contains(why, c.why) {
				t.Errorf("why %q, want %q in it", why, c.why)
			}
		})
	}
}

// A run with an invalid input reports all of its problems and does not start.
func TestInputError(t *testing.T) {
	ran := false
	f := prepareFlow(t, runner.Config{Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
		"it": func(context.Context, *runner.Task) (any, error) { ran = true; return nil, nil },
	})}}, `
state:
  n: {type: integer, required: true}
  level: {type: string, enum: [low, high]}
  list: {type: array, items: {type: string}}
nodes: {a: {kind: work, do: it}}
edges: [{from: a, to: END}]`)
	_, err := f.Run(context.Background(), runner.Options{Input: map[string]any{
		"level": "mid", "list": []any{1}, "levl": 1, "odd": make(chan int),
	}})
	var input *runner.InputError
	if !errors.As(err, &input) || ran {
		t.Fatalf("error %v, ran %v", err, ran)
	}
	want := []string{`"level"`, `"levl"`, `"list"`, `"n"`, `"odd"`}
	if len(input.Problems) != len(want) || !slices.IsSorted(input.Problems) {
		t.Fatalf("problems %q", input.Problems)
	}
	says := []string{"high", `did you mean "level"`, "string", "required", ""}
	for i, problem := range input.Problems {
		if !strings.Contains(problem, want[i]) || !strings.Contains(problem, says[i]) {
			t.Errorf("problem %q, want %s and %s in it", problem, want[i], says[i])
		}
	}
	got, err := f.Run(context.Background(), runner.Options{Input: map[string]any{"n": int64(3), "list": []string{"a"}}})
	if err != nil || got.State["n"] != 3 {
		t.Errorf("good input gives %v, %v", got, err)
	}
}

// The result's JSON is a contract.
func TestResultJSON(t *testing.T) {
	got := run(t, `
state: {n: {type: integer, default: 1}}
nodes: {a: {kind: set, set: {n: n + 1}}}
edges: [{id: loop, from: a, to: a, when: n < 3, label: more}, {from: a, to: END}]`, nil, runner.Options{RunID: "r", History: true})
	got.StartedAt = got.StartedAt.Truncate(0)
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"run_id": `"r"`, "graph": `"t"`, "status": `"completed"`, "quality": `"clean"`, "reason": `"end"`, "limited": `false`,
		"start": `"a"`, "steps": `2`, "max_steps": `100`, "path": `["a","a"]`, "state": `{"n":3}`, "output": `{"n":3}`, "error": `null`,
		"pending": `[]`, "usage": `{"llm_calls":0,"input_tokens":0,"output_tokens":0,"cost_usd":0}`,
		"edges": `[{"index":0,"id":"loop","from":"a","to":"a","condition":"conditional","label":"more","fired":1},{"index":1,"id":null,"from":"a","to":"END","condition":"on_success","label":null,"fired":1}]`,
	} {
		if got := string(fields[name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if len(got.History) != 2 || got.History[1].Visit != 2 || !slices.Equal(got.History[0].Next, []string{"a"}) || !slices.Equal(got.History[1].Edges, []int{1}) {
		t.Errorf("history %+v", got.History)
	}
}
