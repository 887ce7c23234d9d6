package machine_test

import (
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// kind is a failure of some kind after that many seconds.
func kind(seconds float64, kind string) reply {
	r := fails(seconds)
	r.failure.Kind = kind
	return r
}

// Blocks of a retry list are tried in their order by the kind of the failure, and
// each counts its own failures and delays.
func TestRetryLists(t *testing.T) {
	const list = "retry: [{on: [network, timeout], max_attempts: 3, initial_interval: 1s, jitter: 0}, " +
		"{on: [rate_limited], max_attempts: 2, initial_interval: 10s, jitter: 0}, {max_attempts: 2, initial_interval: 100s, max_interval: 200s, jitter: 0}]"
	flow := "nodes:\n  a: {kind: exec, command: [x], " + list + "}\nedges: [{from: a, to: END}]"
	each := "nodes:\n  a: {kind: exec, command: [x], each: '[1, 2]', parallel: {on_failure: wait_all}, " + list + "}\nedges: [{from: a, to: END}]"
	runAll(t, []simCase{
		{
			name: "each block counts by itself", flow: flow, path: "a", quality: machine.Clean, took: 1 + 10 + 2 + 100,
			replies: replies{"a": once(kind(0, "network"), kind(0, "rate_limited"), kind(0, "timeout"), kind(0, "tool"), after(0, nil))},
		},
		{
			name: "one is used up", flow: flow, path: "a", status: machine.Failed, kind: "rate_limited", took: 1 + 10,
			replies: replies{"a": once(kind(0, "network"), kind(0, "rate_limited"), kind(0, "rate_limited"))},
		},
		{
			name: "the first that takes the kind decides", flow: flow, path: "a", status: machine.Failed, kind: "network", took: 1 + 2,
			replies: replies{"a": once(kind(0, "network"), kind(0, "network"), kind(0, "network"))},
		},
		{
			name: "what no block takes is not tried again", path: "a", status: machine.Failed, kind: "tool", took: 0,
			flow:    "nodes:\n  a: {kind: exec, command: [x], retry: [{on: [network]}, {on: [timeout]}]}\nedges: [{from: a, to: END}]",
			replies: replies{"a": once(kind(0, "tool"))},
		},
		{
			name: "of the graph, and none of a node's own", path: "a", status: machine.Failed, kind: "tool", took: 1,
			flow:    "retry: [{on: [network]}, {on: [tool], max_attempts: 2, jitter: 0}]\nnodes:\n  a: {kind: exec, command: [x]}\nedges: [{from: a, to: END}]",
			replies: replies{"a": once(kind(0, "tool"))},
		},
		{
			name: "elements count by themselves", flow: each, path: "a", quality: machine.Clean, took: 1 + 10,
			replies: replies{"a": once(kind(0, "network"), kind(0, "network"), kind(0, "rate_limited"), kind(0, "rate_limited"), after(0, nil))},
		},
	})
}

// A node_retrying says how many attempts there can be in all from then on.
func TestRetryListTellsAttempts(t *testing.T) {
	plan := build(t, head+"nodes: {a: {kind: exec, command: [x], retry: [{on: [network], max_attempts: 3}, {max_attempts: 2}]}}\nedges: [{from: a, to: END}]")
	s := plan.NewState()
	s.Watched = true
	var got []int
	for _, e := range []machine.Event{
		{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "r"}},
		failed("a", 1, 1, "network"),
		{Kind: machine.Advanced},
		{Kind: machine.TimerFired, At: int64(time.Minute), Task: machine.TaskID{Node: "a", Visit: 1, Attempt: 1}, Timer: machine.RetryTimer},
		failed("a", 1, 2, "tool"),
	} {
		if _, err := plan.Apply(s, e); err != nil {
			t.Fatal(err)
		}
		for _, n := range s.Notes() {
			if n.Kind == machine.NoteNodeRetrying {
				got = append(got, n.Retry.MaxAttempts)
			}
		}
	}
	if len(got) != 2 || got[0] != 3 || got[1] != 3 {
		t.Errorf("attempts told %v, want 3 and 3", got)
	}
}
