package machine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/graphrun/graphrun/runner/machine"
)

// throughSnapshots applies events twice: to one state, and to states each of
// which was restored from a snapshot of the one before.
func throughSnapshots(t testing.TB, plan *machine.Plan, events []machine.Event) (*machine.State, bool) {
	t.Helper()
	whole, pieces := plan.NewState(), plan.NewState()
	whole.Watched = true
	for i, e := range events {
		pieces.Watched = true
		want, err := plan.Apply(whole, e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := plan.Apply(pieces, e)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, got) && len(want)+len(got) > 0 {
			t.Errorf("event %d, %s %v, gives other commands after a snapshot:\n%s", i, e.Kind, e.Task, cmp.Diff(want, got))
			return nil, false
		}
		if diff := cmp.Diff(noted(plan, whole), noted(plan, pieces)); diff != "" {
			t.Errorf("event %d, %s %v, gives other notes after a snapshot:\n%s", i, e.Kind, e.Task, diff)
			return nil, false
		}
		before := snapshot(t, whole)
		if after := snapshot(t, pieces); !bytes.Equal(before, after) {
			t.Errorf("event %d, %s %v, gives another state after a snapshot:\n%s\n%s", i, e.Kind, e.Task, before, after)
			return nil, false
		}
		if pieces, err = plan.Restore(before); err != nil {
			t.Fatal(err)
		}
	}
	if want, got := endOf(whole), endOf(pieces); !reflect.DeepEqual(want, got) {
		t.Errorf("the run ends otherwise after snapshots:\n%s", cmp.Diff(want, got))
	}
	return pieces, true
}

func snapshot(t testing.TB, s *machine.State) []byte {
	t.Helper()
	text, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// noted are the notes of the last event as text.
func noted(plan *machine.Plan, s *machine.State) []string {
	var out []string
	notes := s.Notes()
	for i := range notes {
		n := &notes[i]
		out = append(out, fmt.Sprint(
			n.Kind, plan.NodeID(n.Node), n.Visit, n.Attempt, n.Step, n.Superstep, n.Began, n.Branch,
			machine.Plain(n.Output), n.Failure, n.Cached, n.Skipped, n.Failed))
		switch n.Kind {
		case machine.NoteEdgesResolved:
			out = append(out, fmt.Sprint(s.Taken(n), s.AppendCandidates(nil, n)))
		case machine.NoteStateUpdated:
			out = append(out, fmt.Sprint(s.Delta()))
		}
	}
	return out
}

// A run that is restored from a snapshot after every event goes on as if it had
// never stopped.
func TestSnapshotsOfRandomGraphs(t *testing.T) {
	runs := cases() / 200
	for i := range uint64(runs) {
		graph := nested
		if i%2 == 1 {
			graph = chaos
		}
		g := graph(t, i, 2+int(i)%29)
		s := g.inOrder(t, i%orders)
		if _, ok := throughSnapshots(t, g.plan, s.events); !ok || t.Failed() {
			t.Fatalf("seed %d:\n%s", i, g.flow)
		}
	}
}

func TestSnapshotsOfRandomCycles(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		flow := randomFlow(r)
		plan := loose(r, flow)
		answers := rapid.SliceOfN(rapid.Bool(), 1, 6).Draw(r, "answers")
		_, events, _, _ := simulate(r, plan, answers, 1)
		if _, ok := throughSnapshots(t, plan, events); !ok {
			r.Fatal(flow)
		}
	})
}

// Values keep their kinds, whatever they look like.
func TestSnapshotValues(t *testing.T) {
	long := strings.Repeat("long ", 100)
	values := []any{
		nil, true, 0, -3, 1 << 60, 0.5, 1e300, 9007199254740994.0, -1e-300, "", "ü \u2028 <&>", long,
		[]any{},
		map[string]any{},
		[]any{nil, []any{1, 2.5}},
		map[string]any{"$": 3},
		map[string]any{"$": map[string]any{"$": "x"}},
		map[string]any{"$": nil, "b": 1},
		[]any{long, map[string]any{"a": long}},
		map[string]any{"$": long},
	}
	plan := build(t, head+`
state: {v: {}}
nodes: {a: {kind: exec, command: [x], writes: [v]}, b: {kind: exec, command: [x]}}
edges: [{from: a, to: b}, {from: b, to: END}]`)
	for _, v := range values {
		s := plan.NewState()
		for _, e := range []machine.Event{
			{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "r"}},
			{Kind: machine.TaskEnded, Task: machine.TaskID{Node: "a", Visit: 1, Attempt: 1}, Output: map[string]any{"v": v}},
			{Kind: machine.Advanced},
		} {
			if _, err := plan.Apply(s, e); err != nil {
				t.Fatal(err)
			}
		}
		back, err := plan.Restore(snapshot(t, s))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := back.Value("v"); !ok || !reflect.DeepEqual(got, v) {
			t.Errorf("%#v comes back as %#v", v, got)
		}
	}
}

// A large value that many places share is written once, and a state that takes
// more than allowed is not written.
func TestSnapshotSizes(t *testing.T) {
	plan := build(t, head+`
limits: {max_steps: 1000}
state: {v: {}, w: {}}
nodes: {a: {kind: set, set: {w: "[v, v, len(history.a)]"}}, b: {kind: pass}}
edges: [{from: a, to: a, when: step < 100}, {from: a, to: b}, {from: b, to: END}]`)
	s := plan.NewState()
	big := make([]any, 10_000)
	for i := range big {
		big[i] = i
	}
	cmds, err := plan.Apply(s, machine.Event{Kind: machine.RunBegan, Input: map[string]any{"v": big}})
	for err == nil && len(cmds) > 0 && cmds[0].Kind == machine.Advance {
		cmds, err = plan.Apply(s, machine.Event{Kind: machine.Advanced})
	}
	if err != nil || s.Status != machine.Completed || s.Steps != 101 {
		t.Fatal(err, s.Status, s.Steps)
	}
	text := snapshot(t, s)
	once, err := json.Marshal(big)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > len(once)+40_000 {
		t.Errorf("the snapshot has %d bytes, its value %d", len(text), len(once))
	}
	for _, limit := range []int{0, 100, len(text) / 2, len(text) - 1, len(text), math.MaxInt} {
		out, fits, err := s.AppendSnapshot([]byte("x"), limit)
		if err != nil || fits != (limit >= len(text)) || fits != (len(out) > 1) || out[0] != 'x' {
			t.Errorf("with a limit of %d: %d bytes, fits %t, %v", limit, len(out), fits, err)
		}
	}
}

// What is no snapshot of the graph is refused.
func TestRestoreRefuses(t *testing.T) {
	plan := build(t, head+"nodes: {a: {kind: pass}}\nedges: [{from: a, to: END}]")
	other := build(t, head+"nodes: {a: {kind: pass}, b: {kind: pass}}\nedges: [{from: a, to: b}, {from: b, to: END}]")
	s := other.NewState()
	if _, err := other.Apply(s, machine.Event{Kind: machine.RunBegan}); err != nil {
		t.Fatal(err)
	}
	text := string(snapshot(t, s))
	for want, bad := range map[string]string{
		"another graph": text, "version 99": strings.Replace(text, `"version":2`, `"version":99`, 1), "can't be read": text[:len(text)/2],
	} {
		if _, err := plan.Restore([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	for _, bad := range []string{`"failure":0,"open"`, `"next":[{"node":7}],"open"`, `"next":[{"node":-1}],"open"`, `"next":[{"node":2}],"open"`, `"laned":[3],"open"`, `"last_end":{"$":4},"open"`, `"edge_counts":[[9,1]],"open"`} {
		if _, err := other.Restore([]byte(strings.Replace(text, `"open"`, bad, 1))); err == nil {
			t.Errorf("%s is restored", bad)
		}
	}
}

// Questions, notes and resumed runs are in snapshots too.
func TestSnapshotsOfPeopleAndNotes(t *testing.T) {
	plan := build(t, head+`
pause_after: [c]
state: {answer: {}, n: {type: integer, default: 0}}
nodes:
  a: {kind: pass}
  b: {kind: human, prompt: "{{ n }}?", schema: {type: integer, minimum: 2}, timeout: 1h, default: 3, writes: [answer]}
  c: {kind: exec, command: [x], each: "[1, 2, 3]", retry: {max_attempts: 2}}
  d: {kind: pass, join: {wait: all}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: d}, {from: d, to: END}]`)
	id := func(attempt, element int) machine.TaskID {
		return machine.TaskID{Node: "c", Visit: 1, Attempt: attempt, Element: element}
	}
	events := []machine.Event{
		{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "r", PauseBefore: []string{"d"}, MaxSteps: 9, Goal: "g"}},
		{Kind: machine.Advanced},
		{Kind: machine.TaskNoted, Task: id(1, 2), Output: map[string]any{"reply": "x"}},
		{Kind: machine.TaskNoted, Task: id(1, 2), Output: 2},
		{Kind: machine.TaskEnded, Task: id(1, 1), Output: 1},
		{Kind: machine.Resumed},
		{Kind: machine.CancelAsked},
		{Kind: machine.TaskEnded, Task: id(1, 2), Failure: &machine.Failure{Kind: "cancelled"}},
		{Kind: machine.TaskEnded, Task: id(1, 3), Failure: &machine.Failure{Kind: "cancelled"}},
	}
	paused := slices.Concat(events[:6], []machine.Event{
		{Kind: machine.TaskEnded, Task: id(1, 2), Failure: &machine.Failure{Kind: "failed", Details: map[string]any{"n": 1.5}}},
		{Kind: machine.TaskEnded, Task: id(1, 3), Output: "y"},
		{Kind: machine.Advanced},
		{Kind: machine.TimerFired, Timer: machine.RetryTimer, Task: id(1, 2)},
		{Kind: machine.TaskEnded, Task: id(2, 2), Output: "z"},
		{Kind: machine.PauseAsked},
		{Kind: machine.Advanced},
		{Kind: machine.Resumed, Run: &machine.RunInfo{MaxSteps: 20}},
		{Kind: machine.Answered, Task: machine.TaskID{Node: "b", Visit: 1, Attempt: 1}, Output: 1},
		{Kind: machine.Answered, Task: machine.TaskID{Node: "b", Visit: 1, Attempt: 1}, Output: 7},
		{Kind: machine.Advanced},
		{Kind: machine.Resumed},
		{Kind: machine.Advanced},
	})
	if s, ok := throughSnapshots(t, plan, events); ok && s.Status != machine.Cancelled {
		t.Error(s.Status, s.Failure)
	}
	if s, ok := throughSnapshots(t, plan, paused); ok && s.Status != machine.Completed {
		t.Error(s.Status, s.Reason, s.Failure)
	}
}

// The arguments of a call that waits for approval are plain data after a snapshot:
// an approval is told by them.
func TestSnapshotOfApproval(t *testing.T) {
	plan := build(t, head+`
nodes: {a: {kind: exec, command: [x]}}
edges: [{from: a, to: END}]`)
	args := map[string]any{"n": 3, "x": 0.5, "id": 1<<60 + 1, "deep": []any{map[string]any{"m": 2}}}
	s := plan.NewState()
	for _, e := range []machine.Event{
		{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "r"}},
		{Kind: machine.TaskEnded, Task: machine.TaskID{Node: "a", Visit: 1, Attempt: 1}, Park: &machine.Parking{
			Asks: []machine.Ask{{ID: "q", Prompt: "?", Tool: &machine.ToolAsk{Name: "t", Args: args}}},
		}},
	} {
		if _, err := plan.Apply(s, e); err != nil {
			t.Fatal(err)
		}
	}
	back, err := plan.Restore(snapshot(t, s))
	if err != nil {
		t.Fatal(err)
	}
	questions := back.Questions()
	if len(questions) != 1 || questions[0].Tool == nil || !reflect.DeepEqual(questions[0].Tool.Args, args) {
		t.Errorf("questions come back as %+v", questions)
	}
}
