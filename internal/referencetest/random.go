// Random graphs.

package referencetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// RandomGraph makes a graph file from a seed, and the world that its steps run in.
func RandomGraph(seed uint64, w Weights) (text string, world *Chance) {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 11)), w: w}
	world = &Chance{Seed: seed}
	if m.roll(67) {
		world.Failing = m.IntN(w.Failing + 1)
	}
	if m.roll(67) {
		world.Asking = m.IntN(w.Asking + 1)
	}
	m.failing = world.Failing > 0 || w.Fail > 0
	body := m.makeGraph(w.Depth)
	var b strings.Builder
	b.WriteString("graphrun: v1\nname: g\n" + body)
	for i, inner := range m.inner {
		if i == 0 {
			b.WriteString("graphs:\n")
		}
		fmt.Fprintf(&b, "  c%d:\n    %s\n", i, strings.ReplaceAll(strings.TrimSpace(inner), "\n", "\n    "))
	}
	return b.String(), world
}

// maker makes one graph file; inner are its subgraphs.
type maker struct {
	*rand.Rand
	w       Weights
	inner   []string
	failing bool
	ids     []string
	nodes   []string
	edges   []string
}

func (m *maker) roll(percent int) bool { return m.IntN(100) < percent }

func (m *maker) pick(of ...string) string { return of[m.IntN(len(of))] }

// randomDuration returns a random duration in microseconds, so that no two events come at the same
// time.
func (m *maker) randomDuration(least, most int) string {
	return fmt.Sprintf("%dus", least*1e6+m.IntN((most-least)*1e6))
}

// makeGraph makes the body of a graph: everything except its name.
func (m *maker) makeGraph(depth int) string {
	ids, nodes, edges := m.ids, m.nodes, m.edges
	defer func() { m.ids, m.nodes, m.edges = ids, nodes, edges }()
	m.ids, m.nodes, m.edges = nil, nil, nil
	count := m.w.Least + m.IntN(m.w.Most-m.w.Least+1)
	var heads [][]string
	for i := range count {
		id, parts := m.makeNode(i, depth)
		m.ids, heads = append(m.ids, id), append(heads, parts)
	}
	for i, id := range m.ids {
		heads[i] = append(heads[i], m.makeEdges(i, id)...)
	}
	var top []string
	if m.roll(m.w.Finally) {
		id := fmt.Sprintf("s%d", count)
		m.ids = append(m.ids, id)
		heads = append(heads, []string{"kind: set, set: {log: \"'" + id + "'\", n: 1}"})
		top = append(top, "finally: ["+id+"]")
	}
	top = append(top, m.makeSettings()...)
	one := func() string { return m.ids[m.IntN(count)] }
	if m.roll(m.w.Watched) {
		top = append(top, "policies: ["+m.pick(
			"{require: "+one()+", before: "+one()+"}", "{forbid: "+one()+", after: "+one()+"}", "{reach: END, from: "+one()+"}",
			fmt.Sprintf("{max_visits: %d, node: %s}", 1+m.IntN(3), one()), "{never: 'n > 3', at: "+one()+"}")+"]")
	}
	if m.roll(m.w.Breakpoints) {
		top = append(top, m.pick("pause_before", "pause_after")+": ["+one()+"]")
	}
	var b strings.Builder
	b.WriteString("start: " + m.ids[0] + "\n")
	for _, line := range top {
		b.WriteString(line + "\n")
	}
	b.WriteString(`state:
  n: {type: integer, reducer: sum, default: 0}
  log: {type: array, reducer: append, default: []}
  set: {type: array, reducer: union, default: []}
  obj: {type: object, reducer: merge, default: {}}
  mix: {type: integer, reducer: "(current * 3 + update) % 1000", default: 1}
  m: {}
  k: {}
  seen: {}
nodes:
`)
	for i, id := range m.ids {
		fmt.Fprintf(&b, "  %s: {%s}\n", id, strings.ReplaceAll(strings.Join(heads[i], ", "), "SELF", id))
	}
	if len(m.edges) > 0 {
		b.WriteString("edges:\n")
	}
	for _, e := range m.edges {
		b.WriteString("  - {" + e + "}\n")
	}
	return b.String()
}

func (m *maker) makeSettings() []string {
	limits := []string{fmt.Sprintf("max_steps: %d", 30+m.IntN(40))}
	if m.roll(m.w.Limits) {
		limits[0] = fmt.Sprintf("max_steps: %d", 2+m.IntN(15))
		if m.roll(50) {
			limits = append(limits, "on_max_steps: "+m.pick("return_last", "flag"))
		}
	}
	if m.roll(m.w.MaxConcurrency) {
		limits = append(limits, fmt.Sprintf("max_concurrency: %d", 1+m.IntN(3)))
	}
	if m.roll(m.w.Timeouts) {
		limits = append(limits, "timeout: "+m.randomDuration(4, 50))
	}
	if m.roll(m.w.Timeouts) {
		limits = append(limits, "step_timeout: "+m.randomDuration(3, 12))
	}
	var parallel []string
	if m.roll(m.w.Policies) {
		parallel = append(parallel, "on_failure: "+m.pick("continue_others", "wait_all"))
	}
	if m.roll(m.w.Policies / 2) {
		parallel = append(parallel, "conflict: "+m.pick("first_wins", "error"))
	}
	if m.roll(m.w.Explicit) {
		parallel = append(parallel, "join: explicit")
	} else {
		parallel = append(parallel, "join: auto")
	}
	if m.roll(m.w.Timeouts) {
		parallel = append(parallel, "branch_timeout: "+m.randomDuration(2, 20))
	}
	return []string{"limits: {" + strings.Join(limits, ", ") + "}", "parallel: {" + strings.Join(parallel, ", ") + "}"}
}

// makeNode makes a node and returns its id and its keys, without the edges.
func (m *maker) makeNode(i, depth int) (id string, parts []string) {
	letter, head := "p", "kind: pass"
	var keys []string
	switch {
	case depth > 0 && m.roll(m.w.Graph):
		letter = "c"
		m.inner = append(m.inner, "")
		at := len(m.inner) - 1
		m.inner[at] = m.makeGraph(depth - 1)
		head = fmt.Sprintf("kind: graph, graph: \"#c%d\"", at)
		keys = append(keys, m.pick("with: {n: 1}", "with: {n: n % 3, m: m}"))
		if each := m.makeEach(); each != nil {
			keys = append(append(keys, "writes: {n: 1, k: len(output)}"), each...)
		} else {
			keys = append(keys, m.pick("writes: {n: 1}", "writes: {m: output.state.m, log: \"'SELF'\"}", "writes: {k: output.quality}"))
		}
	case m.roll(m.w.Wait):
		letter, head = "w", "kind: wait, for: "+m.randomDuration(0, 9)
		keys = append(keys, m.pick("writes: {log: \"'SELF'\"}", "writes: {m: \"'SELF'\"}"))
	case m.roll(m.w.Human):
		letter, head = "h", "kind: human, prompt: x, writes: [m]"
		if m.roll(40) {
			keys = append(keys, "timeout: "+m.randomDuration(0, 5))
			if m.roll(60) {
				keys = append(keys, "default: nobody")
			}
		}
	case m.roll(m.w.Fail) && i > 1:
		return fmt.Sprintf("f%d", i), []string{"kind: fail, message: x"}
	case m.roll(m.w.Goto):
		letter, head = "g", "kind: exec, command: [x]"
	case m.roll(40):
		letter, head = "x", "kind: exec, command: [x]"
		keys = append(keys, m.makeExec()...)
	case m.roll(75):
		letter = "s"
		head = "kind: set, set: " + m.pick(
			"{n: 1}", "{log: \"'SELF'\", n: 1}", "{m: \"'SELF'\", k: keys(inputs)}", "{mix: step, set: \"['SELF', m]\"}",
			"{obj: \"{a: 'SELF', SELF: visits.SELF}\"}", "{k: \"'SELF'\", log: \"[step, visits.SELF]\"}")
		if m.roll(m.w.Each / 3) {
			keys = append(keys, "each: \"[1, 2]\"")
		}
	}
	if i > 0 && m.roll(m.w.Join) {
		keys = append(keys, m.makeJoin())
		if letter == "s" && m.roll(30) && len(keys) == 1 {
			head = "kind: set, set: {seen: \"[keys(branches), map(values(branches), .error?.kind)]\", log: \"'SELF'\"}"
		}
	}
	if m.roll(m.w.MaxVisits) {
		keys = append(keys, fmt.Sprintf("max_visits: %d", 1+m.IntN(3)))
		if m.roll(50) {
			keys = append(keys, "on_max_visits: skip")
		}
	}
	if m.roll(m.w.RoutingAll) && letter != "g" {
		keys = append(keys, "routing: all")
	}
	if m.roll(m.w.Policies / 3) {
		keys = append(keys, "parallel: {"+m.pick("on_failure: fail_all", "on_failure: continue_others", "on_failure: wait_all", "conflict: first_wins", "conflict: last_wins", "conflict: error")+"}")
	}
	return fmt.Sprintf("%s%d", letter, i), append([]string{head}, keys...)
}

func (m *maker) makeJoin() string {
	if m.roll(m.w.Quorum) {
		wait := m.pick("any", "2", "2", "3")
		if wait != "any" && m.roll(m.w.QuorumBypass) {
			wait += ", on_bypass: " + m.pick("continue", "fail")
		}
		return "join: {wait: " + wait + "}"
	}
	if m.roll(m.w.Bypass) {
		return "join: {wait: all, on_bypass: " + m.pick("continue", "fail") + "}"
	}
	return "join: {wait: all}"
}

func (m *maker) makeExec() []string {
	keys := []string{m.pick("writes: [log]", "writes: [m]", "writes: {k: output, n: 2}", "writes: {mix: step}", "writes: {set: output}")}
	if m.roll(m.w.Retry) {
		keys = append(keys, "retry: "+m.pick(
			fmt.Sprintf("{max_attempts: %d, initial_interval: %s, jitter: 0}", 2+m.IntN(2), m.randomDuration(0, 4)),
			fmt.Sprintf("{max_attempts: 2, initial_interval: %s, jitter: 0, on: [tool]}", m.randomDuration(0, 4)),
			fmt.Sprintf("[{on: [tool], max_attempts: 2, initial_interval: %s, jitter: 0}, {max_attempts: 3, initial_interval: 900ms, jitter: 0}]", m.randomDuration(0, 4))))
	}
	if m.roll(m.w.Timeouts) {
		keys = append(keys, "timeout: "+m.randomDuration(1, 5))
	}
	return append(keys, m.makeEach()...)
}

func (m *maker) makeEach() []string {
	if !m.roll(m.w.Each) {
		return nil
	}
	keys := []string{"each: " + m.pick("'[1, 2, 3]'", "'[4, 5]'", "'take(log, 3)'", "'[]'", "'[1, 2, 3, 4, 5]'")}
	if m.roll(30) {
		keys = append(keys, fmt.Sprintf("max_concurrency: %d", 1+m.IntN(2)))
	}
	return keys
}

// pickTarget returns the target of an edge: mostly a later node, sometimes an earlier one, sometimes
// END.
func (m *maker) pickTarget(i int) string {
	switch n := len(m.ids); {
	case m.roll(12) || i+1 == n:
		return "END"
	default:
		return m.ids[i+1+m.IntN(min(n-i-1, 3))]
	}
}

// makeEdges adds the edges of a node, and returns the keys that the node needs for them.
func (m *maker) makeEdges(i int, id string) []string {
	edge := func(to string, keys ...string) {
		m.edges = append(m.edges, strings.Join(append([]string{"from: " + id, "to: " + to}, keys...), ", "))
	}
	pick := func() string {
		if m.roll(m.w.Back) {
			return m.ids[m.IntN(i+1)]
		}
		return m.pickTarget(i)
	}
	switch id[0] {
	case 'f':
		return nil
	case 'g':
		if m.failing && m.roll(m.w.FailureEdges) {
			edge(pick(), "condition: on_failure")
		}
		return []string{fmt.Sprintf("ends: {x: %s, y: %s, z: %s}", m.pickTarget(i), pick(), m.pickTarget(i))}
	}
	if m.roll(m.w.Guards) {
		for range 1 + m.IntN(2) {
			m.makeGuardedEdges(i, pick, edge)
		}
	}
	plain := 1
	if m.roll(m.w.FanOut) {
		plain = 2 + m.IntN(2)
	}
	var targets []string
	for range plain {
		if to := m.pickTarget(i); !slices.Contains(targets, to) {
			targets = append(targets, to)
		}
	}
	if m.roll(m.w.Back / 10) {
		targets = append(targets, m.ids[m.IntN(i+1)])
	}
	for _, to := range targets {
		var keys []string
		if m.roll(6) {
			keys = append(keys, "condition: always")
		}
		if m.roll(12) {
			keys = append(keys, "transform: {v: step, n: n}")
		}
		edge(to, keys...)
	}
	if m.failing && m.roll(m.w.FailureEdges) {
		for range 1 + m.IntN(2) {
			keys := []string{"condition: on_failure"}
			if m.roll(30) {
				keys = append(keys, "when: \"error.kind == 'tool'\"")
			}
			edge(pick(), keys...)
		}
	}
	return nil
}

func (m *maker) makeGuardedEdges(i int, pick func() string, edge func(string, ...string)) {
	other := m.ids[m.IntN(len(m.ids))]
	keys := []string{"when: \"" + m.pick(
		fmt.Sprintf("step %% %d == 0", 2+m.IntN(3)), fmt.Sprintf("visits.%s < %d", m.ids[i], 2+m.IntN(3)), fmt.Sprintf("visits.%s < %d", other, 1+m.IntN(3)),
		fmt.Sprintf("n < %d", m.IntN(6)), "m == 'yes'", "mix % 2 == 1", fmt.Sprintf("nodes.%s.output == None", other), fmt.Sprintf("len(history.%s) > 1", other)) + "\""}
	if m.roll(25) {
		keys = append(keys, fmt.Sprintf("priority: %d", m.IntN(4)-1))
	}
	to := pick()
	if m.roll(15) {
		to = "[" + to + ", " + m.pickTarget(i) + "]"
	}
	edge(to, keys...)
}
