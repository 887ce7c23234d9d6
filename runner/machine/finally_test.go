package machine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner/machine"
)

// ends are what the nodes of finally came to, a word each.
func ends(s *machine.State) string {
	var out []string
	for _, end := range s.FinallyEnds() {
		word := end.Node
		switch {
		case end.Skipped:
			word += " skipped"
		case end.Failure != nil:
			word += " " + end.Failure.Kind
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}

func wantEnds(want string) func(*testing.T, *sim) {
	return func(t *testing.T, s *sim) {
		t.Helper()
		if got := ends(s.state); got != want {
			t.Errorf("finally came to %q, want %q", got, want)
		}
	}
}

const cleanUp = `
finally: [c, d]
state:
  said: {type: string}
  n: {type: integer, default: 0}
`

// However a run ends, its nodes of finally run, in their order, and see how it
// ended; what they do changes neither how it ended nor what it gave.
func TestFinally(t *testing.T) {
	const tail = `
  c: {kind: set, set: {said: "run.status + ' ' + run.reason + ' ' + (error == nil ? '' : error.kind)"}}
  d: {kind: exec, command: [x], writes: {n: "n + 1"}}
`
	runAll(t, []simCase{
		{
			name: "completed", flow: cleanUp + "output: said ?? 'none'\nnodes:\n  a: {kind: exec, command: [x]}" + tail + "edges: [{from: a, to: END}]",
			path: "a", quality: machine.Clean, state: map[string]any{"said": "completed end ", "n": 1}, output: "none", check: wantEnds("c, d"),
		},
		{
			name: "failed", flow: cleanUp + "nodes:\n  a: {kind: exec, command: [x]}" + tail + "edges: [{from: a, to: END}]",
			replies: replies{"a": once(fails(0))}, path: "a", status: machine.Failed, kind: "failed",
			state: map[string]any{"said": "failed node_failed failed", "n": 1}, check: wantEnds("c, d"),
		},
		{
			name: "stuck", flow: cleanUp + "nodes:\n  a: {kind: pass}" + tail + "edges: [{from: a, to: END, when: n > 3}]",
			path: "a", status: machine.Stuck, kind: "stuck", state: map[string]any{"said": "stuck no_edge stuck"}, check: wantEnds("c, d"),
		},
		{
			name: "limit of steps", flow: cleanUp + "limits: {max_steps: 2}\nnodes:\n  a: {kind: pass}" + tail + "edges: [{from: a, to: a, when: n < 3}, {from: a, to: END}]",
			path: "a a", status: machine.Limit, reason: "max_steps", state: map[string]any{"said": "limit max_steps loop_limit", "n": 1}, check: wantEnds("c, d"),
		},
		{
			name: "limit of time", flow: cleanUp + "limits: {timeout: 5s, step_timeout: 3s}\nnodes:\n  a: {kind: exec, command: [x]}" + tail + "edges: [{from: a, to: END}]",
			replies: replies{"a": once(never()), "d": once(after(60, nil))}, status: machine.Limit, reason: "timeout", gone: "a", took: 63,
			state: map[string]any{"said": "limit timeout timeout", "n": 1}, check: wantEnds("c, d"),
		},
		{
			name: "a failure in it degrades", flow: cleanUp + "nodes:\n  a: {kind: pass}\n  c: {kind: exec, command: [x]}\n  d: {kind: set, set: {n: n + 1}}\nedges: [{from: a, to: END}]",
			replies: replies{"c": once(fails(0))}, path: "a", quality: machine.Degraded, state: map[string]any{"n": 1}, check: wantEnds("c failed, d"),
		},
		{
			name: "a failure in it leaves a failure as it is", flow: cleanUp + "nodes:\n  a: {kind: fail, message: first}\n  c: {kind: fail, message: second}\n  d: {kind: pass}\nedges: []",
			path: "a", status: machine.Failed, quality: machine.FailedQuality, says: "first", check: wantEnds("c failed, d"),
		},
		{
			name: "retries and waits", flow: cleanUp + "limits: {timeout: 1s}\nnodes:\n  a: {kind: pass}\n  c: {kind: exec, command: [x], retry: {max_attempts: 2, initial_interval: 4s, jitter: 0}}\n  d: {kind: wait, for: 3s}\nedges: [{from: a, to: END}]",
			replies: replies{"c": once(fails(0), after(0, nil))}, path: "a", quality: machine.Clean, took: 7, check: wantEnds("c, d"),
		},
		{
			name: "each", flow: cleanUp + "nodes:\n  a: {kind: pass}\n  c: {kind: exec, command: [x], each: '[1, 2, 3]'}\n  d: {kind: pass}\nedges: [{from: a, to: END}]",
			path: "a", quality: machine.Clean, check: wantEnds("c, d"),
		},
		{
			name: "what would ask a person fails", flow: cleanUp + "nodes:\n  a: {kind: pass}\n  c: {kind: exec, command: [x]}\n  d: {kind: pass}\nedges: [{from: a, to: END}]",
			replies: replies{"c": once(reply{asks: []machine.Ask{{ID: "q", Prompt: "?"}}})}, path: "a", quality: machine.Degraded, check: wantEnds("c invalid_input, d"),
		},
		{
			name: "a branch that waits for a person is left", flow: cleanUp + "nodes:\n  a: {kind: pass}\n  h: {kind: human, prompt: q}\n  f: {kind: exec, command: [x]}\n  c: {kind: pass}\n  d: {kind: pass}\nedges: [{from: a, to: [h, f]}, {from: [h, f], to: END}]",
			replies: replies{"f": once(fails(2))}, answers: map[string]reply{"h": after(3, "late")}, status: machine.Failed, path: "a f", check: wantEnds("c, d"),
		},
	})
}

// A cancelled run gives its nodes of finally a while, all of them together.
func TestFinallyAfterCancel(t *testing.T) {
	plan := build(t, head+cleanUp+`nodes:
  a: {kind: exec, command: [x]}
  c: {kind: exec, command: [x]}
  d: {kind: exec, command: [x]}
edges: [{from: a, to: END}]
`)
	for _, c := range []struct {
		name  string
		first float64
		want  string
		at    float64
	}{
		{"in time", 1, "c, d", 3},
		{"too long", 7, "c cancelled, d skipped", 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSim(t, plan, func(id machine.TaskID, _ int) reply {
				switch id.Node {
				case "a":
					return never()
				case "c":
					return after(c.first, nil)
				}
				return after(1, nil)
			})
			s.schedule(1e9, machine.Event{Kind: machine.CancelAsked})
			s.schedule(1.5e9, machine.Event{Kind: machine.PauseAsked})
			s.run(machine.RunInfo{}, nil)
			s.replay(true)
			throughSnapshots(t, plan, s.events)
			if s.state.Status != machine.Cancelled || ends(s.state) != c.want || s.now.Seconds() != c.at {
				t.Errorf("%s after %v: %s, want %s after %v", s.state.Status, s.now, ends(s.state), c.want, c.at)
			}
		})
	}
}

// Who asks to cancel while nodes of finally run changes only how long they have.
func TestCancelInFinally(t *testing.T) {
	plan := build(t, head+"finally: c\nnodes:\n  a: {kind: pass}\n  c: {kind: exec, command: [x]}\nedges: [{from: a, to: END}]\n")
	s := newSim(t, plan, func(machine.TaskID, int) reply { return after(60, nil) })
	s.schedule(10e9, machine.Event{Kind: machine.CancelAsked})
	s.run(machine.RunInfo{}, nil)
	if got := s.state; got.Status != machine.Completed || got.Quality != machine.Degraded || ends(got) != "c cancelled" || s.now.Seconds() != 15 {
		t.Errorf("%s, %s after %v: %s", got.Status, got.Quality, s.now, ends(got))
	}
}

// A run that is taken up after its nodes of finally ran, runs them anew at its new
// end, as another visit.
func TestFinallyRunsAnewAfterResume(t *testing.T) {
	plan := build(t, head+"finally: c\nnodes:\n  a: {kind: pass}\n  c: {kind: exec, command: [x]}\nedges: [{from: a, to: END}]\n")
	s := plan.NewState()
	var asked []machine.TaskID
	apply := func(e machine.Event) {
		t.Helper()
		cmds, err := plan.Apply(s, e)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cmds {
			if c.Kind == machine.RunTask {
				asked = append(asked, c.Task)
			}
		}
	}
	apply(machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "r"}})
	apply(machine.Event{Kind: machine.Resumed, Endings: 2})
	apply(machine.Event{Kind: machine.Advanced})
	want := []machine.TaskID{{Node: "c", Visit: 3, Attempt: 1}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked to run (-want +got):\n%s", diff)
	}
	if !s.InFinally() || s.Endings() != 3 {
		t.Errorf("in finally: %v, endings %d", s.InFinally(), s.Endings())
	}
}

// Nodes of finally change nothing of a run but what they write: any graph takes
// the same way to the same end with and without them.
func TestPropertyFinally(t *testing.T) {
	forEachGraph(t, cases()/10, func(t *testing.T, seed uint64, size int) {
		g := chaos(t, seed, size)
		flow := strings.Replace(g.flow, "nodes:\n", "finally: [fin, end]\nnodes:\n  fin: {kind: exec, command: [x], each: '[1, 2]', retry: {max_attempts: 2}, parallel: {on_failure: fail_all}}\n  end: {kind: set, set: {seen: run.status}}\n", 1)
		with := *g
		with.plan, with.flow = compile(t, flow), flow
		with.breaks = map[string]bool{"fin": seed%3 == 0}
		for id, breaks := range g.breaks {
			with.breaks[id] = with.breaks[id] || breaks
		}
		order := uint64(0)
		defer func() { with.explain(t, seed, order) }()
		for ; order < orders && !t.Failed(); order++ {
			a, b := g.inOrder(t, order), with.inOrder(t, order)
			one, two := endOf(a.state), endOf(b.state)
			one.State, two.State = nil, nil
			if with.breaks["fin"] && one.Status == machine.Completed {
				one.Quality = machine.Degraded
			}
			if diff := cmp.Diff(one, two, cmp.AllowUnexported(machine.Failure{})); diff != "" {
				t.Errorf("finally changes the end (-without +with):\n%s", diff)
			}
			if !slices.Equal(a.path, b.path) {
				t.Errorf("finally changes the path:\n%v\n%v", a.path, b.path)
			}
			want := "fin, end"
			if with.breaks["fin"] {
				want = "fin failed, end"
			}
			if got := ends(b.state); got != want {
				t.Errorf("finally came to %q, want %q", got, want)
			}
			if seen := b.state.Values()["seen"]; seen != string(two.Status) {
				t.Errorf("finally saw %v in a run that ended as %s", seen, two.Status)
			}
		}
	})
}
