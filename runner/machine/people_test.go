package machine_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// asking is a reply that asks questions after that many seconds.
func asking(seconds float64, keys ...string) reply {
	r := after(seconds, nil)
	for _, key := range keys {
		r.asks = append(r.asks, machine.Ask{ID: key, Key: key, Prompt: key + "?"})
	}
	return r
}

// nobody is a person who never answers.
func nobody() reply { return reply{takes: -1} }

func TestTasksAsk(t *testing.T) {
	const diamond = `nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x]%s}
  c: {kind: exec, command: [x]}
  d: {kind: exec, command: [x]}
edges:
  - {from: a, to: [b, c]}
  - {from: b, to: END}
  - {from: c, to: d}
  - {from: d, to: END}`
	flow := func(more string) string { return fmt.Sprintf(diamond, more) }
	var given []map[string]any
	keep := func(c machine.Command) {
		if c.Task.Node == "b" {
			given = append(given, c.Work.Answers)
		}
	}
	cases := []struct {
		simCase
		given []map[string]any
	}{
		{simCase{
			name: "the other branches go on meanwhile", flow: flow(""), replies: replies{"b": once(asking(0, "k"), reply{output: 1})},
			answers: map[string]reply{"b:k": after(9, "yes")}, path: "a c d b", quality: machine.Clean, took: 9,
		}, []map[string]any{nil, {"k": "yes"}}},
		{simCase{
			name: "it runs again with all answers, in whichever order they come", flow: flow(""),
			replies: replies{"b": once(asking(0, "k", "l"), reply{output: 1})},
			answers: map[string]reply{"b:k": after(9, "x"), "b:l": after(3, "y")}, path: "a c d b", took: 9,
		}, []map[string]any{nil, {"k": "x", "l": "y"}}},
		{simCase{
			name: "earlier answers stand when it asks again", flow: flow(""),
			replies: replies{"b": once(asking(0, "k"), asking(1, "l"), asking(1, "m"), reply{output: 1})},
			path:    "a c d b",
		}, []map[string]any{nil, {"k": "yes"}, {"k": "yes", "l": "yes"}, {"k": "yes", "l": "yes", "m": "yes"}}},
		{simCase{
			name: "an interrupt uses up no attempt", flow: flow(", retry: {max_attempts: 2, initial_interval: 1s, jitter: 0}"),
			replies: replies{"b": once(asking(0, "k"), fails(0), asking(0, "l"), reply{output: 1})},
			path:    "a c d b", quality: machine.Clean,
		}, []map[string]any{nil, {"k": "yes"}, {"k": "yes"}, {"k": "yes", "l": "yes"}}},
		{simCase{
			name: "the timeout is for the time that it runs", flow: flow(", timeout: 2s"),
			replies: replies{"b": once(asking(1, "k"), after(1, 1))}, answers: map[string]reply{"b:k": after(60, "x")},
			path: "a c d b", took: 62,
		}, []map[string]any{nil, {"k": "x"}}},
		{simCase{
			name: "a branch that is cancelled asks no more", flow: flow(""),
			replies: replies{"b": once(asking(0, "k")), "c": once(fails(5))}, answers: map[string]reply{"b:k": nobody()},
			path: "a c", status: machine.Failed, kind: "failed", at: "c",
		}, []map[string]any{nil}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			given = nil
			c.told = keep
			c.run(t)
			if !reflect.DeepEqual(given, c.given) {
				t.Errorf("ran with answers %v, want %v", given, c.given)
			}
		})
	}
}

// A branch that fails when the others have met elsewhere is one that is dropped.
func TestFailsAfterTheOthersMet(t *testing.T) {
	const flow = `nodes:
  a: {kind: pass}
  b: {kind: pass, parallel: {on_failure: continue_others}}
  c: {kind: pass}
  d: {kind: exec, command: [x]}
  e: {kind: pass}
  f: {kind: pass, join: {wait: all}}
edges:
  - {from: a, to: [b, c]}
  - {from: b, to: [d, e]}
  - {from: e, to: f}
  - {from: c, to: f}
  - {from: d, to: END}
  - {from: f, to: END}`
	runAll(t, []simCase{{
		name: "by an answer that comes late", flow: flow, replies: replies{"d": once(asking(0, "k"), fails(0))},
		answers: map[string]reply{"d:k": after(9, "x")}, path: "a b c e f d", quality: machine.Degraded,
	}})
}

func TestElementsAsk(t *testing.T) {
	human := `state: {ys: {type: array}}
nodes:
  a: {kind: human, prompt: "{{ item }}?", each: "[1, 2, 3]", writes: [ys]%s}
edges: [{from: a, to: END}]`
	exec := `state: {ys: {type: array}}
limits: {max_concurrency: 2}
nodes:
  a: {kind: exec, command: [x], each: "[1, 2, 3]", writes: [ys]%s}
edges: [{from: a, to: END}]`
	list := func(items ...any) map[string]any { return map[string]any{"ys": items} }
	runAll(t, []simCase{
		{
			name: "a person is asked for every element", flow: fmt.Sprintf(human, ""), path: "a",
			answers: map[string]reply{"a[0]": after(3, "p"), "a[1]": after(1, "q"), "a[2]": after(2, "r")},
			state:   list("p", "q", "r"), took: 3, quality: machine.Clean,
		},
		{
			name: "the default stands for who does not answer", flow: fmt.Sprintf(human, ", timeout: 5s, default: d"), path: "a",
			answers: map[string]reply{"a[0]": nobody(), "a[2]": nobody()}, state: list("d", "yes", "d"), took: 5,
		},
		{
			name: "one who does not answer fails the node", flow: fmt.Sprintf(human, ", timeout: 5s"), path: "a",
			answers: map[string]reply{"a[1]": nobody(), "a[2]": nobody()}, status: machine.Failed, kind: "timeout", says: "element 1",
		},
		{
			name: "or leaves a hole", flow: fmt.Sprintf(human, ", timeout: 5s, parallel: {on_failure: continue_others}"), path: "a",
			answers: map[string]reply{"a[1]": nobody()}, state: list("yes", nil, "yes"), quality: machine.Degraded,
		},
		{
			name: "elements that ask leave their place to others", flow: fmt.Sprintf(exec, ""), path: "a",
			replies: replies{"a": once(asking(0, "k"), asking(0, "k"), after(1, "r"), after(1, "s"))},
			answers: map[string]reply{"a[0]:k": after(3, "x"), "a[1]:k": after(2, "y")}, state: list("s", "s", "r"), took: 4,
		},
		{
			name: "an answer while others run", flow: fmt.Sprintf(exec, ""), path: "a",
			replies: replies{"a": once(asking(0, "k"), after(9, "q"), after(9, "r"), after(1, "p"))},
			answers: map[string]reply{"a[0]:k": after(1, "x")}, state: list("p", "q", "r"), took: 10,
		},
		{
			name: "a failure that settles the node ends the questions", flow: fmt.Sprintf(exec, ""), path: "a",
			replies: replies{"a": once(asking(0, "k"), fails(2))}, answers: map[string]reply{"a[0]:k": nobody()},
			status: machine.Failed, kind: "failed", says: "element 1", gone: "a",
		},
	})
}

// Any graph whose tasks ask now and then ends as it would in another order of
// answers, keeps its books, and goes on from any snapshot.
func TestPropertyPeople(t *testing.T) {
	forEachGraph(t, cases()/10, func(t *testing.T, seed uint64, size int) {
		g := nested(t, seed, size)
		for order := uint64(0); order < orders/2 && !t.Failed(); order++ {
			r, asked := rand.New(rand.NewPCG(order, seed)), 0
			s := newSim(t, g.plan, func(id machine.TaskID, _ int) reply {
				if r.IntN(4) == 0 {
					asked++
					keys := []string{fmt.Sprint("k", asked), fmt.Sprint("l", asked), fmt.Sprint("m", asked)}
					return asking(float64(r.IntN(3)), keys[:1+r.IntN(3)]...)
				}
				answer := reply{takes: time.Duration(r.IntN(5000)) * time.Millisecond}
				if g.breaks[id.Node] || g.flaky[id.Node] && id.Attempt == 1 {
					answer.failure = &machine.Failure{Kind: "failed", Message: "no"}
				}
				return answer
			})
			s.answer = func(*machine.Question) reply { return after(float64(r.IntN(4)), "yes") }
			s.twice, s.stale = order%2 == 1, order%3 == 1
			s.run(machine.RunInfo{}, nil)
			s.replay(order%4 == 1)
			g.checkVisits(t, s)
			if order == 1 && len(s.events) < 300 {
				throughSnapshots(t, g.plan, slices.Clone(s.events))
			}
			g.explain(t, seed, order)
		}
	})
}

// The time that a run, or a subgraph, may take is active time: a pause takes
// nothing of it, a resume does not give it again, unless it is asked to.
func TestResumedRunsKeepTheirTimeout(t *testing.T) {
	plan := build(t, head+`limits: {timeout: 10s}
nodes:
  a: {kind: human, prompt: "?"}
  b: {kind: exec, command: [x]}
edges:
  - {from: a, to: b}
  - {from: b, to: END}`)
	for _, c := range []struct {
		parent *machine.ParentInfo
		given  time.Duration
		want   time.Duration
	}{{&machine.ParentInfo{StepsLeft: 9}, 0, 7 * time.Second}, {nil, 0, 7 * time.Second}, {nil, 5 * time.Second, 5 * time.Second}} {
		s := plan.NewState()
		at := simEpoch
		apply := func(after time.Duration, e machine.Event) []machine.Command {
			at += int64(after)
			e.At = at
			cmds, err := plan.Apply(s, e)
			if err != nil {
				t.Fatal(err)
			}
			return cmds
		}
		apply(0, machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run", Parent: c.parent}})
		apply(3*time.Second, machine.Event{Kind: machine.Advanced})
		if s.Status != machine.Paused {
			t.Fatalf("status %s", s.Status)
		}
		cmds := apply(time.Hour, machine.Event{Kind: machine.Resumed, Run: &machine.RunInfo{ID: "run", Parent: c.parent, Timeout: c.given}})
		if i := slices.IndexFunc(cmds, func(c machine.Command) bool { return c.Timer == machine.RunTimer }); i < 0 || cmds[i].For != c.want {
			t.Errorf("nested %v: commands %v, want %s left", c.parent != nil, cmds, c.want)
		}
	}
}
