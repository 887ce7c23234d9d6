package machine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// generated is a random graph and what is known about its runs beforehand.
type generated struct {
	flow string
	plan *machine.Plan
	// visits holds how often each node must run; nodes that a join may cancel
	// are not in it.
	visits map[string]int
	// calm says that only the order of declaration may decide anything: no
	// timers, no race, no last_wins.
	calm bool
	// breaks says of a node that it fails; flaky that its first attempt does.
	breaks, flaky map[string]bool
	degraded      bool
	hasTwins      bool // see chaos
}

// writer writes a graph down node by node.
type writer struct {
	r            *rand.Rand
	nodes, edges strings.Builder
	state        strings.Builder
	count        int
	left         int // nodes that may still be added
	out          generated
	racing       int // joins around the node that may cancel it
	timers       bool
}

func newWriter(r *rand.Rand, size int) *writer {
	return &writer{r: r, left: size, out: generated{
		visits: map[string]int{}, breaks: map[string]bool{}, flaky: map[string]bool{}, calm: true,
	}}
}

func (w *writer) chance(percent int) bool { return w.r.IntN(100) < percent }

func (w *writer) node(rest string) string {
	id := fmt.Sprintf("n%d", w.count)
	w.count++
	w.left--
	fmt.Fprintf(&w.nodes, "  %s: {%s}\n", id, strings.ReplaceAll(rest, "SELF", id))
	return id
}

func (w *writer) edge(from, to, rest string) {
	fmt.Fprintf(&w.edges, "  - {from: %s, to: %s%s}\n", from, to, rest)
}

// text is the whole file.
func (w *writer) text(start, top string) string {
	return "graphrun: v1\nname: g\nstart: " + start + "\n" + top + "state:\n  seen: {}\n  log: {type: array, reducer: append, default: []}\n" +
		w.state.String() + "nodes:\n" + w.nodes.String() + "edges:\n" + w.edges.String()
}

// compile builds a plan without the advice that a person would get.
func compile(t testing.TB, flow string) *machine.Plan {
	t.Helper()
	g, found := spec.Parse("flow.yaml", []byte(flow), spec.Options{})
	if found.HasErrors() {
		t.Fatalf("%s\n%s", found[0].Message, flow)
	}
	plan, found := machine.Build(g, nil)
	if plan == nil {
		t.Fatalf("%s\n%s", found[0].Message, flow)
	}
	return plan
}

// nested is a graph of nested blocks, of which it is known how often each node
// runs: sequences, loops, fan-outs with a join.
func nested(t testing.TB, seed uint64, size int) *generated {
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWriter(r, size)
	w.timers = w.chance(30)
	first, last := w.block(1, 4)
	w.edge(last, "END", "")
	top := "limits: {max_steps: 100000, max_concurrency: " + fmt.Sprint(1+r.IntN(5)) + "}\n"
	if w.chance(30) {
		top += "parallel: {branch_timeout: 1000h}\n"
		w.out.calm = false
	}
	w.out.flow = w.text(first, top)
	w.out.plan = compile(t, w.out.flow)
	return &w.out
}

// block writes a block that runs times times and returns its ends.
func (w *writer) block(times, depth int) (first, last string) {
	if depth == 0 || w.left < 4 {
		return w.leaf(times)
	}
	switch w.r.IntN(5) {
	case 0:
		return w.leaf(times)
	case 1:
		first, middle := w.block(times, depth-1)
		next, last := w.block(times, depth-1)
		w.edge(middle, next, "")
		return first, last
	case 2:
		return w.loop(times, depth)
	}
	return w.fan(times, depth)
}

func (w *writer) expect(id string, times int) {
	if w.racing == 0 {
		w.out.visits[id] = times
	}
}

// leaf is a node that leaves its name in the log.
func (w *writer) leaf(times int) (first, last string) {
	var id string
	switch w.r.IntN(5) {
	case 0:
		id = w.node(`kind: set, set: {log: "'SELF'"}`)
	case 1:
		id = w.node(fmt.Sprintf("kind: exec, command: [x], writes: {log: \"'SELF'\"}, each: '[1, 2, 3]', max_concurrency: %d", 1+w.count%4))
	case 2:
		if w.timers {
			w.out.calm = false
			if w.chance(50) {
				id = w.node("kind: wait, for: " + fmt.Sprint(w.r.IntN(9)) + "s")
			} else {
				id = w.node("kind: exec, command: [x], writes: {log: \"'SELF'\"}, retry: {max_attempts: 2, initial_interval: 2s}")
				w.out.flaky[id] = true
			}
			break
		}
		fallthrough
	default:
		id = w.node("kind: exec, command: [x], writes: {log: \"'SELF'\"}")
		if w.chance(20) {
			w.out.breaks[id] = true
			fix := w.node("kind: pass")
			end := w.node("kind: pass")
			w.edge(id, fix, ", condition: on_failure")
			w.edge(id, end, "")
			w.edge(fix, end, "")
			w.expect(id, times)
			w.expect(fix, times)
			w.expect(end, times)
			return id, end
		}
	}
	w.expect(id, times)
	return id, id
}

// loop runs its body two or three times.
func (w *writer) loop(times, depth int) (first, last string) {
	rounds := 2 + w.r.IntN(2)
	first, last = w.block(times*rounds, depth-1)
	counter := fmt.Sprintf("k%d", w.count)
	fmt.Fprintf(&w.state, "  %s: {type: integer, default: 0}\n", counter)
	check := w.node(fmt.Sprintf(`kind: set, set: {%s: "%s >= %d ? 1 : %s + 1"}`, counter, counter, rounds, counter))
	w.expect(check, times*rounds)
	w.edge(last, check, "")
	w.edge(check, first, fmt.Sprintf(", when: %s < %d", counter, rounds))
	return first, check
}

// fan is a fan-out of two to four branches and a join. Some branches may end
// elsewhere, or fail and be tolerated.
func (w *writer) fan(times, depth int) (first, last string) {
	branches := 2 + w.r.IntN(3)
	arriving := 1 + w.r.IntN(branches)
	wait, policy := "all", "fail_all"
	if w.chance(35) {
		w.out.calm = false
		if wait = "any"; w.chance(50) {
			wait = fmt.Sprint(1 + w.r.IntN(arriving))
		}
	}
	if w.chance(50) {
		if policy = "continue_others"; w.chance(50) {
			policy = "wait_all"
		}
	}
	fork := w.node("kind: pass, parallel: {on_failure: " + policy + "}")
	w.expect(fork, times)
	if wait != "all" {
		w.racing++
	}
	var ends []string
	for i := range branches {
		if i >= arriving {
			w.lost(fork, times, policy != "fail_all")
			continue
		}
		start, end := w.block(times, depth-1)
		w.edge(fork, start, "")
		ends = append(ends, end)
	}
	if wait != "all" {
		w.racing--
	}
	join := w.node(w.pick("kind: pass", "kind: set, set: {seen: branches}") + ", join: {wait: " + wait + "}")
	w.expect(join, times)
	for _, end := range ends {
		w.edge(end, join, "")
	}
	return fork, join
}

// lost is a branch that never comes to the join: it ends at END, or fails.
func (w *writer) lost(fork string, times int, mayFail bool) {
	id := w.node("kind: exec, command: [x], writes: {log: \"'SELF'\"}")
	w.expect(id, times)
	w.edge(fork, id, "")
	if mayFail && w.chance(50) {
		w.out.breaks[id] = true
		if w.racing == 0 {
			w.out.degraded = true
		}
	}
	w.edge(id, "END", "")
}

// chaos is any graph at all: edges from everywhere to everywhere.
func chaos(t testing.TB, seed uint64, size int) *generated {
	r := rand.New(rand.NewPCG(seed, 2))
	w := newWriter(r, size)
	w.out.calm = w.chance(40)
	for range size {
		id := w.node(w.anyNode(size))
		w.out.breaks[id] = w.chance(15)
		w.out.flaky[id] = w.chance(15)
		w.anyEdges(id, size)
	}
	w.state.WriteString("  n: {type: integer, reducer: sum, default: 0}\n  m: {}\n")
	// Rounds of joins that hand on what they were handed double it each time:
	// by default there would be minutes of measuring before that is a limit.
	top := fmt.Sprintf("limits: {max_steps: %d, on_max_steps: %s, max_concurrency: %d, max_state_bytes: 100000}\n",
		1+r.IntN(80), w.pick("fail", "return_last", "flag"), 1+r.IntN(6))
	policy := w.pick("fail_all", "continue_others", "wait_all")
	parallel := ""
	if w.out.calm {
		policy = w.pick("continue_others", "wait_all")
	} else if w.chance(25) {
		parallel = ", branch_timeout: " + fmt.Sprint(1+r.IntN(20)) + "s"
	}
	top += "parallel: {on_failure: " + policy + ", conflict: " + w.pick("last_wins", "first_wins", "error") + ", join: " +
		w.pick("explicit", "explicit", "auto") + parallel + "}\n"
	w.out.flow = w.text("n0", top)
	w.out.plan = compile(t, w.out.flow)
	return &w.out
}

func (w *writer) pick(of ...string) string { return of[w.r.IntN(len(of))] }

func (w *writer) anyNode(size int) string {
	var b strings.Builder
	kinds := []string{
		"kind: pass", `kind: set, set: {log: "'SELF'", n: 1}`, "kind: exec, command: [x]",
		"kind: exec, command: [x], writes: {log: \"'SELF'\"}", "kind: exec, command: [x], each: '[1, 2]'",
		"kind: set, set: {log: \"'SELF'\", seen: branches}",
	}
	if !w.out.calm {
		kinds = append(kinds, "kind: exec, command: [x], writes: {m: \"'SELF'\"}", "kind: wait, for: 3s",
			"kind: exec, command: [x], retry: {max_attempts: 2, initial_interval: 2s}", "kind: exec, command: [x], timeout: 4s")
	}
	kind := kinds[w.r.IntN(len(kinds))]
	joins := w.chance(30)
	if !joins {
		kind = strings.Replace(kind, "branches", "input", 1) // a join alone knows them
	}
	b.WriteString(kind)
	if joins {
		wait := "all"
		if !w.out.calm {
			wait = w.pick("all", "any", "2", "3")
		}
		b.WriteString(", join: {wait: " + wait + "}")
	}
	if w.chance(15) {
		b.WriteString(fmt.Sprintf(", max_visits: %d, on_max_visits: %s", 1+w.r.IntN(4), w.pick("fail", "skip")))
	}
	if w.chance(15) {
		b.WriteString(", routing: all")
	}
	if w.chance(8) {
		w.out.hasTwins = true
		to := func() string { return fmt.Sprintf("n%d", w.r.IntN(size)) }
		b.WriteString(fmt.Sprintf(", goto: '[\"%s\", {\"to\": \"%s\", \"input\": step}, {\"to\": \"%s\", \"input\": 2}]'", to(), to(), to()))
	}
	return b.String()
}

func (w *writer) anyEdges(id string, size int) {
	to := func() string {
		if w.chance(15) {
			return "END"
		}
		return fmt.Sprintf("n%d", w.r.IntN(size))
	}
	for range w.r.IntN(3) {
		guard := []string{
			fmt.Sprintf("step %% %d == 0", 2+w.r.IntN(3)),
			fmt.Sprintf("visits.n%d < %d", w.r.IntN(size), 1+w.r.IntN(4)),
			fmt.Sprintf("n < %d", w.r.IntN(20)),
		}
		w.edge(id, to(), ", when: "+guard[w.r.IntN(len(guard))])
	}
	if w.chance(30) {
		w.edge(id, to(), ", condition: "+w.pick("on_failure", "always"))
	}
	for range w.r.IntN(4) {
		w.edge(id, to(), "")
	}
	if w.chance(70) {
		w.edge(id, to(), "")
	}
}
