// Random graphs.

package referencetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Random is a graph file that a seed decides, and what its steps do.
func Random(seed uint64, w Weights) (text string, world *Chance) {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 11)), w: w}
	world = &Chance{Seed: seed}
	if m.chance(67) {
		world.Failing = m.IntN(w.Failing + 1)
	}
	if m.chance(67) {
		world.Asking = m.IntN(w.Asking + 1)
	}
	m.failing = world.Failing > 0 || w.Fail > 0
	body := m.graph(w.Depth)
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

// maker makes one graph; inner are those of the file.
type maker struct {
	*rand.Rand
	w       Weights
	inner   []string
	failing bool
	ids     []string
	nodes   []string
	edges   []string
}

func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

func (m *maker) pick(of ...string) string { return of[m.IntN(len(of))] }

// micros is a random duration, so that no two things end at once.
func (m *maker) micros(least, most int) string {
	return fmt.Sprintf("%dus", least*1e6+m.IntN((most-least)*1e6))
}

// graph is the body of a graph: everything but its name.
func (m *maker) graph(depth int) string {
	ids, nodes, edges := m.ids, m.nodes, m.edges
	defer func() { m.ids, m.nodes, m.edges = ids, nodes, edges }()
	m.ids, m.nodes, m.edges = nil, nil, nil
	count := m.w.Least + m.IntN(m.w.Most-m.w.Least+1)
	var heads [][]string
	for i := range count {
		id, parts := m.node(i, depth)
		m.ids, heads = append(m.ids, id), append(heads, parts)
	}
	for i, id := range m.ids {
		heads[i] = append(heads[i], m.ways(i, id)...)
	}
	var top []string
	if m.chance(m.w.Finally) {
		id := fmt.Sprintf("s%d", count)
		m.ids = append(m.ids, id)
		heads = append(heads, []string{"kind: set, set: {log: \"'" + id + "'\", n: 1}"})
		top = append(top, "finally: ["+id+"]")
	}
	top = append(top, m.settings()...)
	one := func() string { return m.ids[m.IntN(count)] }
	if m.chance(m.w.Watched) {
		top = append(top, "policies: ["+m.pick(
			"{require: "+one()+", before: "+one()+"}", "{forbid: "+one()+", after: "+one()+"}", "{reach: END, from: "+one()+"}",
			fmt.Sprintf("{max_visits: %d, node: %s}", 1+m.IntN(3), one()), "{never: 'n > 3', at: "+one()+"}")+"]")
	}
	if m.chance(m.w.Breakpoints) {
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

func (m *maker) settings() []string {
	limits := []string{fmt.Sprintf("max_steps: %d", 30+m.IntN(40))}
	if m.chance(m.w.Limits) {
		limits[0] = fmt.Sprintf("max_steps: %d", 2+m.IntN(15))
		if m.chance(50) {
			limits = append(limits, "on_max_steps: "+m.pick("return_last", "flag"))
		}
	}
	if m.chance(m.w.MaxConcurrency) {
		limits = append(limits, fmt.Sprintf("max_concurrency: %d", 1+m.IntN(3)))
	}
	if m.chance(m.w.Timeouts) {
		limits = append(limits, "timeout: "+m.micros(4, 50))
	}
	if m.chance(m.w.Timeouts) {
		limits = append(limits, "step_timeout: "+m.micros(3, 12))
	}
	var parallel []string
	if m.chance(m.w.Policies) {
		parallel = append(parallel, "on_failure: "+m.pick("continue_others", "wait_all"))
	}
	if m.chance(m.w.Policies / 2) {
		parallel = append(parallel, "conflict: "+m.pick("first_wins", "error"))
	}
	if m.chance(m.w.Explicit) {
		parallel = append(parallel, "join: explicit")
	} else {
		parallel = append(parallel, "join: auto")
	}
	if m.chance(m.w.Timeouts) {
		parallel = append(parallel, "branch_timeout: "+m.micros(2, 20))
	}
	return []string{"limits: {" + strings.Join(limits, ", ") + "}", "parallel: {" + strings.Join(parallel, ", ") + "}"}
}

// node is the id of a node and its keys, edges apart.
func (m *maker) node(i, depth int) (id string, parts []string) {
	letter, head := "p", "kind: pass"
	var keys []string
	switch {
	case depth > 0 && m.chance(m.w.Graph):
		letter = "c"
		m.inner = append(m.inner, "")
		at := len(m.inner) - 1
		m.inner[at] = m.graph(depth - 1)
		head = fmt.Sprintf("kind: graph, graph: \"#c%d\"", at)
		keys = append(keys, m.pick("with: {n: 1}", "with: {n: n % 3, m: m}"))
		if each := m.each(); each != nil {
			keys = append(append(keys, "writes: {n: 1, k: len(output)}"), each...)
		} else {
			keys = append(keys, m.pick("writes: {n: 1}", "writes: {m: output.state.m, log: \"'SELF'\"}", "writes: {k: output.quality}"))
		}
	case m.chance(m.w.Wait):
		letter, head = "w", "kind: wait, for: "+m.micros(0, 9)
		keys = append(keys, m.pick("writes: {log: \"'SELF'\"}", "writes: {m: \"'SELF'\"}"))
	case m.chance(m.w.Human):
		letter, head = "h", "kind: human, prompt: x, writes: [m]"
		if m.chance(40) {
			keys = append(keys, "timeout: "+m.micros(0, 5))
			if m.chance(60) {
				keys = append(keys, "default: nobody")
			}
		}
	case m.chance(m.w.Fail) && i > 1:
		return fmt.Sprintf("f%d", i), []string{"kind: fail, message: x"}
	case m.chance(m.w.Goto):
		letter, head = "g", "kind: exec, command: [x]"
	case m.chance(40):
		letter, head = "x", "kind: exec, command: [x]"
		keys = append(keys, m.exec()...)
	case m.chance(75):
		letter = "s"
		head = "kind: set, set: " + m.pick(
			"{n: 1}", "{log: \"'SELF'\", n: 1}", "{m: \"'SELF'\", k: keys(inputs)}", "{mix: step, set: \"['SELF', m]\"}",
			"{obj: \"{a: 'SELF', SELF: visits.SELF}\"}", "{k: \"'SELF'\", log: \"[step, visits.SELF]\"}")
		if m.chance(m.w.Each / 3) {
			keys = append(keys, "each: \"[1, 2]\"")
		}
	}
	if i > 0 && m.chance(m.w.Join) {
		keys = append(keys, m.join())
		if letter == "s" && m.chance(30) && len(keys) == 1 {
			head = "kind: set, set: {seen: \"[keys(branches), map(values(branches), .error?.kind)]\", log: \"'SELF'\"}"
		}
	}
	if m.chance(m.w.MaxVisits) {
		keys = append(keys, fmt.Sprintf("max_visits: %d", 1+m.IntN(3)))
		if m.chance(50) {
			keys = append(keys, "on_max_visits: skip")
		}
	}
	if m.chance(m.w.RoutingAll) && letter != "g" {
		keys = append(keys, "routing: all")
	}
	if m.chance(m.w.Policies / 3) {
		keys = append(keys, "parallel: {"+m.pick("on_failure: fail_all", "on_failure: continue_others", "on_failure: wait_all", "conflict: first_wins", "conflict: last_wins", "conflict: error")+"}")
	}
	return fmt.Sprintf("%s%d", letter, i), append([]string{head}, keys...)
}

func (m *maker) join() string {
	if m.chance(m.w.Quorum) {
		wait := m.pick("any", "2", "2", "3")
		if wait != "any" && m.chance(m.w.QuorumBypass) {
			wait += ", on_bypass: " + m.pick("continue", "fail")
		}
		return "join: {wait: " + wait + "}"
	}
	if m.chance(m.w.Bypass) {
		return "join: {wait: all, on_bypass: " + m.pick("continue", "fail") + "}"
	}
	return "join: {wait: all}"
}

func (m *maker) exec() []string {
	keys := []string{m.pick("writes: [log]", "writes: [m]", "writes: {k: output, n: 2}", "writes: {mix: step}", "writes: {set: output}")}
	if m.chance(m.w.Retry) {
		keys = append(keys, "retry: "+m.pick(
			fmt.Sprintf("{max_attempts: %d, initial_interval: %s, jitter: 0}", 2+m.IntN(2), m.micros(0, 4)),
			fmt.Sprintf("{max_attempts: 2, initial_interval: %s, jitter: 0, on: [tool]}", m.micros(0, 4)),
			fmt.Sprintf("[{on: [tool], max_attempts: 2, initial_interval: %s, jitter: 0}, {max_attempts: 3, initial_interval: 900ms, jitter: 0}]", m.micros(0, 4))))
	}
	if m.chance(m.w.Timeouts) {
		keys = append(keys, "timeout: "+m.micros(1, 5))
	}
	return append(keys, m.each()...)
}

func (m *maker) each() []string {
	if !m.chance(m.w.Each) {
		return nil
	}
	keys := []string{"each: " + m.pick("'[1, 2, 3]'", "'[4, 5]'", "'take(log, 3)'", "'[]'", "'[1, 2, 3, 4, 5]'")}
	if m.chance(30) {
		keys = append(keys, fmt.Sprintf("max_concurrency: %d", 1+m.IntN(2)))
	}
	return keys
}

// to is where an edge leads: mostly on, sometimes back, sometimes out.
func (m *maker) to(i int) string {
	switch n := len(m.ids); {
	case m.chance(12) || i+1 == n:
		return "END"
	default:
		return m.ids[i+1+m.IntN(min(n-i-1, 3))]
	}
}

// ways adds the edges of a node, and returns what the node has to say of them.
func (m *maker) ways(i int, id string) []string {
	edge := func(to string, keys ...string) {
		m.edges = append(m.edges, strings.Join(append([]string{"from: " + id, "to: " + to}, keys...), ", "))
	}
	any := func() string {
		if m.chance(m.w.Back) {
			return m.ids[m.IntN(i+1)]
		}
		return m.to(i)
	}
	switch id[0] {
	case 'f':
		return nil
	case 'g':
		if m.failing && m.chance(m.w.FailureEdges) {
			edge(any(), "condition: on_failure")
		}
		return []string{fmt.Sprintf("ends: {x: %s, y: %s, z: %s}", m.to(i), any(), m.to(i))}
	}
	if m.chance(m.w.Guards) {
		for range 1 + m.IntN(2) {
			m.guarded(i, any, edge)
		}
	}
	plain := 1
	if m.chance(m.w.FanOut) {
		plain = 2 + m.IntN(2)
	}
	var targets []string
	for range plain {
		if to := m.to(i); !slices.Contains(targets, to) {
			targets = append(targets, to)
		}
	}
	if m.chance(m.w.Back / 10) {
		targets = append(targets, m.ids[m.IntN(i+1)])
	}
	for _, to := range targets {
		var keys []string
		if m.chance(6) {
			keys = append(keys, "condition: always")
		}
		if m.chance(12) {
			keys = append(keys, "transform: {v: step, n: n}")
		}
		edge(to, keys...)
	}
	if m.failing && m.chance(m.w.FailureEdges) {
		for range 1 + m.IntN(2) {
			keys := []string{"condition: on_failure"}
			if m.chance(30) {
				keys = append(keys, "when: \"error.kind == 'tool'\"")
			}
			edge(any(), keys...)
		}
	}
	return nil
}

func (m *maker) guarded(i int, any func() string, edge func(string, ...string)) {
	other := m.ids[m.IntN(len(m.ids))]
	keys := []string{"when: \"" + m.pick(
		fmt.Sprintf("step %% %d == 0", 2+m.IntN(3)), fmt.Sprintf("visits.%s < %d", m.ids[i], 2+m.IntN(3)), fmt.Sprintf("visits.%s < %d", other, 1+m.IntN(3)),
		fmt.Sprintf("n < %d", m.IntN(6)), "m == 'yes'", "mix % 2 == 1", fmt.Sprintf("nodes.%s.output == None", other), fmt.Sprintf("len(history.%s) > 1", other)) + "\""}
	if m.chance(25) {
		keys = append(keys, fmt.Sprintf("priority: %d", m.IntN(4)-1))
	}
	to := any()
	if m.chance(15) {
		to = "[" + to + ", " + m.to(i) + "]"
	}
	edge(to, keys...)
}
