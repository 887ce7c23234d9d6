package machine_test

import (
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// Whatever stands in a snapshot, restoring it is an error or gives a state that
// can be written again.
func FuzzRestore(f *testing.F) {
	plan := build(f, head+`
state: {v: {}, log: {type: array, reducer: append}}
nodes:
  a: {kind: set, set: {v: "{'$': history.a, 'n': 1.5}", log: "'a long text: ' + string(visits)"}}
  b: {kind: exec, command: [x], each: "[1, 2]"}
  c: {kind: human, prompt: "?", choices: [x]}
  d: {kind: pass, join: {wait: all}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: d}, {from: d, to: a, when: step < 9}, {from: d, to: END}]`)
	s := plan.NewState()
	for _, e := range []machine.Event{
		{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "r"}},
		{Kind: machine.Advanced},
		{Kind: machine.TaskEnded, Task: machine.TaskID{Node: "b", Visit: 1, Attempt: 1, Element: 1}, Output: "x"},
		{Kind: machine.TaskEnded, Task: machine.TaskID{Node: "b", Visit: 1, Attempt: 1, Element: 2}, Failure: &machine.Failure{Kind: "failed"}},
		{Kind: machine.Advanced},
	} {
		if _, err := plan.Apply(s, e); err != nil {
			f.Fatal(err)
		}
		f.Add(snapshot(f, s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		back, err := plan.Restore(text)
		if err != nil {
			return
		}
		if _, err := back.MarshalJSON(); err != nil {
			t.Fatal(err)
		}
		_, _ = back.Values(), back.Partial()
	})
}
