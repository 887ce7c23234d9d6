package machine_test

import (
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// Without a block, failures that may pass get three attempts, after about 1 s
// and 2 s.
func TestDefaultDelays(t *testing.T) {
	w := walk(t, head+"nodes: {a: {kind: http, url: 'http://x'}}\nedges: [{from: a, to: END}]",
		script{"a": each(bad("network"))}, nil, machine.RunInfo{})
	if len(w.delays) != 2 {
		t.Fatalf("delays %v, want two", w.delays)
	}
	for i, base := range []time.Duration{time.Second, 2 * time.Second} {
		if d := w.delays[i]; d < base*9/10 || d > base*11/10 || d == base {
			t.Errorf("delay %d is %v, want %v with a jitter of a tenth", i, d, base)
		}
	}
}

// Jitter goes both ways, evenly, and is another one for every attempt, visit and run.
func TestJitter(t *testing.T) {
	flow := head + `
nodes: {a: {kind: exec, command: [x], retry: {max_attempts: 40, initial_interval: 1s, backoff: 1, jitter: 0.5}}}
edges: [{from: a, to: END}]`
	delays := walk(t, flow, script{"a": each(bad("tool"))}, nil, machine.RunInfo{}).delays
	low, high, sum := delays[0], delays[0], time.Duration(0)
	for _, d := range delays {
		low, high, sum = min(low, d), max(high, d), sum+d
	}
	if low < 500*time.Millisecond || high > 1500*time.Millisecond || low > 700*time.Millisecond || high < 1300*time.Millisecond {
		t.Errorf("delays from %v to %v, want about 0.5s to 1.5s", low, high)
	}
	if mean := sum / time.Duration(len(delays)); mean < 850*time.Millisecond || mean > 1150*time.Millisecond {
		t.Errorf("delays are %v on average, want about 1s", mean)
	}
	first := build(t, flow)
	if a, b := delayOf(t, first, "one"), delayOf(t, first, "two"); a == b {
		t.Errorf("runs one and two both wait %v", a)
	}
	if a, b := delayOf(t, first, "one"), delayOf(t, first, "one"); a != b {
		t.Errorf("run one waits %v, then %v", a, b)
	}
}

// delayOf is the first delay of a run.
func delayOf(t *testing.T, plan *machine.Plan, run string) time.Duration {
	t.Helper()
	s := plan.NewState()
	if _, err := plan.Apply(s, machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: run}}); err != nil {
		t.Fatal(err)
	}
	cmds, err := plan.Apply(s, failed("a", 1, 1, "tool"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cmds {
		if c.Timer == machine.RetryTimer {
			return c.For
		}
	}
	t.Fatal("no retry")
	return 0
}

func TestDelayBounds(t *testing.T) {
	flow := func(retry string) string {
		if retry != "" {
			retry = ", retry: " + retry
		}
		return head + "nodes: {a: {kind: exec, command: [x]" + retry + "}}\nedges: [{from: a, to: END}]"
	}
	after := func(ms int64) answer { return badWith(machine.Failure{Kind: "rate_limited", RetryAfter: ms}) }
	for _, c := range []struct {
		name, retry string
		answer      answer
		want        time.Duration
	}{
		{"the first delay is capped too", "{max_attempts: 2, initial_interval: 10s, max_interval: 5s, jitter: 0}", bad("tool"), 5 * time.Second},
		{"Retry-After lengthens a delay", "{max_attempts: 2, initial_interval: 1s, jitter: 0}", after(7000), 7 * time.Second},
		{"Retry-After does not shorten it", "{max_attempts: 2, initial_interval: 3s, jitter: 0}", after(10), 3 * time.Second},
		{"Retry-After does not go over max_interval", "{max_attempts: 2, initial_interval: 1s, max_interval: 2s, jitter: 0}", after(60000), 2 * time.Second},
		{"nor over 10 minutes", "{max_attempts: 2, initial_interval: 1s, jitter: 0}", after(86400000), 10 * time.Minute},
		{"nor so without a policy", "", after(86400000), 10 * time.Minute},
	} {
		w := walk(t, flow(c.retry), script{"a": each(c.answer)}, nil, machine.RunInfo{})
		if len(w.delays) == 0 || w.delays[0] != c.want {
			t.Errorf("%s: delays %v, want %v", c.name, w.delays, c.want)
		}
	}
}

// What is retried and what not, besides what TestRetries shows.
func TestRetriedKinds(t *testing.T) {
	http := "nodes: {a: {kind: http, url: 'http://x'}}\nedges: [{from: a, to: END}]"
	exec := "nodes: {a: {kind: exec, command: [x]}}\nedges: [{from: a, to: END}]"
	block := "nodes: {a: {kind: exec, command: [x], retry: {max_attempts: 4}}}\nedges: [{from: a, to: END}]"
	status := func(code int) answer {
		return badWith(machine.Failure{Kind: "http_status", Details: map[string]any{"status": code}})
	}
	for _, c := range []struct {
		name, flow string
		answer     answer
		want       int
	}{
		{"429 has a kind of its own", http, bad("rate_limited"), 3},
		{"overloaded", http, bad("overloaded"), 3},
		{"500", http, status(500), 3},
		{"599", http, status(599), 3},
		{"499", http, status(499), 1},
		{"404", http, status(404), 1},
		{"no status", http, bad("http_status"), 1},
		{"a timeout of http", http, bad("timeout"), 3},
		{"a timeout of exec", exec, bad("timeout"), 1},
		{"auth", http, bad("auth"), 1},
		{"internal", http, bad("internal"), 1},
		{"a block is for every kind", block, bad("internal"), 4},
		{"a block is for timeouts", block, bad("timeout"), 4},
		{"a block is not for cancelled", block, bad("cancelled"), 1},
		{"a block is not for expression", block, bad("expression"), 1},
		{"a block is not for conflict", block, bad("conflict"), 1},
		{"a block is not for invalid_input", block, bad("invalid_input"), 1},
	} {
		w := walk(t, head+c.flow, script{"a": each(c.answer)}, nil, machine.RunInfo{})
		if w.state.Status != machine.Failed || w.asked["a"] != c.want {
			t.Errorf("%s: %s after %d attempts, want %d", c.name, w.state.Status, w.asked["a"], c.want)
		}
	}
}

// A graph's block is no reason to repeat what can only go the same way.
func TestPureNodesAreNotRetried(t *testing.T) {
	for name, flow := range map[string]string{
		"set":  "nodes: {a: {kind: set, set: {n: x}}}\nedges: [{from: a, to: END}]",
		"fail": "nodes: {a: {kind: fail, message: no}}\nedges: []",
		"wait": "nodes: {a: {kind: wait, until: x}}\nedges: [{from: a, to: END}]",
	} {
		w := walk(t, head+"retry: {max_attempts: 3}\nstate: {n: {type: integer}, x: {type: [string, integer], default: text}}\n"+flow,
			nil, nil, machine.RunInfo{})
		if len(w.delays) != 0 || w.state.Status != machine.Failed {
			t.Errorf("%s: delays %v, status %s", name, w.delays, w.state.Status)
		}
	}
}

// A write that its key can't hold is found in time for another attempt.
func TestBadWritesAreRetried(t *testing.T) {
	for name, c := range map[string]struct {
		key       string
		bad, good any
		want      any
	}{
		"replace": {"{type: integer}", "x", 1, 1},
		"append":  {"{type: array, items: {type: string}, reducer: append}", 5, "x", []any{"x"}},
		"prepend": {"{type: array, items: {type: string}, reducer: prepend}", 5, "x", []any{"x"}},
		"sum":     {"{type: integer, maximum: 5, reducer: sum}", 9, 1, 1},
	} {
		w := walk(t, head+"state: {k: "+c.key+"}\nnodes: {a: {kind: exec, command: [x], writes: [k], retry: {max_attempts: 2}}}\nedges: [{from: a, to: END}]",
			script{"a": each(ok(c.bad), ok(c.good))}, nil, machine.RunInfo{})
		got, _ := w.state.Value("k")
		if w.state.Status != machine.Completed || w.asked["a"] != 2 {
			t.Errorf("%s: %s after %d attempts: %v", name, w.state.Status, w.asked["a"], w.state.Failure)
		}
		walkCase{}.compare(t, got, c.want)
	}
}

// The idempotency key is one for all attempts of a visit, another for every
// visit, node and run.
func TestIdempotencyKeys(t *testing.T) {
	flow := head + `
nodes:
  a: {kind: exec, command: [x], retry: {max_attempts: 2}}
  b: {kind: exec, command: [x]}
edges: [{from: a, to: a, when: visits.a < 2}, {from: a, to: b}, {from: b, to: END}]`
	keys := func(run string) []string {
		plan := build(t, flow)
		s := plan.NewState()
		var out []string
		for _, e := range []machine.Event{
			{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: run}},
			failed("a", 1, 1, "tool"),
			{Kind: machine.Advanced},
			fired(machine.RetryTimer, "a", 1, 1),
			ended("a", 1, 2, nil),
			{Kind: machine.Advanced},
			ended("a", 2, 1, nil),
			{Kind: machine.Advanced},
		} {
			cmds, err := plan.Apply(s, e)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cmds {
				if c.Kind == machine.RunTask {
					out = append(out, c.Work.Key)
				}
			}
		}
		return out
	}
	one, two := keys("one"), keys("two")
	if len(one) != 4 {
		t.Fatalf("keys %v", one)
	}
	if one[0] != one[1] {
		t.Errorf("attempts have keys %s and %s", one[0], one[1])
	}
	distinct := map[string]bool{}
	for _, key := range append(one[1:], two[1:]...) {
		distinct[key] = true
	}
	if len(distinct) != 6 {
		t.Errorf("keys repeat: %v %v", one, two)
	}
}
