// Random graphs and scripts.

package reference_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/reference"
)

// flow is a graph in parts that can be left out one by one.
type flow struct {
	top   []string
	nodes []part
	edges []part
	// what handlers do, apart from the graph
	seed            uint64
	failing, asking int // per cent
	quick           bool
	// graphs are those of the file.
	graphs []*flow
}

// part is a node or an edge: what it is, and what may be left out of it.
type part struct {
	head  string
	id    string // of a node
	ends  [2]string
	attrs []string
}

func (f *flow) text() string {
	var b strings.Builder
	b.WriteString("graphrun: v1\nname: g\n" + f.body())
	for i, g := range f.graphs {
		if i == 0 {
			b.WriteString("graphs:\n")
		}
		fmt.Fprintf(&b, "  c%d:\n    %s\n", i, strings.ReplaceAll(strings.TrimSpace(g.body()), "\n", "\n    "))
	}
	return b.String()
}

func (f *flow) body() string {
	var b strings.Builder
	start := "none"
	if len(f.nodes) > 0 {
		start = f.nodes[0].id
	}
	b.WriteString("start: " + start + "\n")
	for _, line := range f.top {
		b.WriteString(line + "\n")
	}
	b.WriteString(`state:
  n: {type: integer, reducer: sum, default: 0}
  log: {type: array, reducer: append, default: []}
  m: {}
  seen: {}
  got: {}
nodes:
`)
	for _, n := range f.nodes {
		fmt.Fprintf(&b, "  %s: {%s}\n", n.id, strings.Join(append([]string{n.head}, n.attrs...), ", "))
	}
	if len(f.edges) > 0 {
		b.WriteString("edges:\n")
	}
	for _, e := range f.edges {
		b.WriteString("  - {from: " + e.ends[0] + ", to: " + e.ends[1])
		for _, a := range e.attrs {
			b.WriteString(", " + a)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// script is what the handlers of a flow do: chance that the seed and the
// attempt's name decide.
func (f *flow) script(a reference.Attempt) reference.Outcome {
	h := fnv.New64a()
	fmt.Fprint(h, a)
	r := rand.New(rand.NewPCG(f.seed, h.Sum64()))
	var o reference.Outcome
	if takes := time.Duration(r.Int64N(5e9)); !f.quick || a.Element > 0 {
		o.Takes = takes
	}
	name := a.Node[strings.LastIndexByte(a.Node, '/')+1:]
	o.Output = []any{r.IntN(4), "yes", name, nil}[r.IntN(4)]
	if strings.HasPrefix(name, "h") {
		o.Output = "answer"
		return o
	}
	if r.IntN(100) < f.failing {
		o.Fails = []string{"tool", "failed"}[r.IntN(2)]
	}
	if a.Round < 2 && r.IntN(100) < f.asking {
		for range 1 + r.IntN(2) {
			o.Asks = append(o.Asks, time.Duration(r.Int64N(9e9)))
		}
	}
	if strings.HasPrefix(name, "g") {
		to := func() any { return []any{"x", "y", "z"}[r.IntN(3)] }
		o.Output = map[string]any{"goto": []any{to(), []any{to(), to()}}[r.IntN(2)]}
	}
	return o
}

// maker makes a random flow.
type maker struct {
	*rand.Rand
	flow
	ids []string
}

func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

func (m *maker) pick(of ...string) string { return of[m.IntN(len(of))] }

// random is a flow that a seed decides.
func random(seed uint64) *flow {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 7))}
	m.seed = seed
	if m.chance(60) {
		m.failing = 5 + m.IntN(35)
	}
	if m.chance(20) {
		m.asking = 10 + m.IntN(30)
	}
	m.quick = m.chance(20)
	m.limits()
	count := 3 + m.IntN(7)
	for i := range count {
		m.node(i)
	}
	for i, id := range m.ids {
		m.ways(i, id)
	}
	if m.chance(15) {
		m.finally(count)
	}
	return &m.flow
}

// finally adds nodes that run at the end.
func (m *maker) finally(count int) {
	var names []string
	for i := range 1 + m.IntN(2) {
		id := fmt.Sprintf("%s%d", m.pick("s", "w", "x"), count+i)
		n := part{id: id, head: fmt.Sprintf("kind: wait, for: %dus", 1+m.IntN(9e6))}
		switch id[0] {
		case 's':
			n.head = "kind: set, set: {log: \"'" + id + "'\", n: 1}"
		case 'x':
			n.head, n.attrs = "kind: exec, command: [x]", m.exec()
		}
		m.nodes = append(m.nodes, n)
		names = append(names, id)
	}
	m.top = append(m.top, "finally: ["+strings.Join(names, ", ")+"]")
}

// within is a limit of time, a random one so that no two things end at once.
func (m *maker) within(name string, least, most int) string {
	return fmt.Sprintf("%s: %dus", name, least*1e6+m.IntN((most-least)*1e6))
}

func (m *maker) limits() {
	limits := []string{fmt.Sprintf("max_steps: %d", 4+m.IntN(40))}
	if m.chance(40) {
		limits = append(limits, "on_max_steps: "+m.pick("return_last", "flag"))
	}
	if m.chance(30) {
		limits = append(limits, fmt.Sprintf("max_concurrency: %d", 1+m.IntN(3)))
	}
	if m.chance(12) {
		limits = append(limits, m.within("timeout", 4, 50))
	}
	if m.chance(12) {
		limits = append(limits, m.within("step_timeout", 3, 12))
	}
	m.top = append(m.top, "limits: {"+strings.Join(limits, ", ")+"}")
	var parallel []string
	if m.chance(50) {
		parallel = append(parallel, "on_failure: "+m.pick("continue_others", "wait_all"))
	}
	if m.chance(30) {
		parallel = append(parallel, "conflict: "+m.pick("first_wins", "error"))
	}
	if m.chance(15) {
		parallel = append(parallel, "join: auto")
	}
	if m.chance(15) {
		parallel = append(parallel, m.within("branch_timeout", 2, 20))
	}
	if len(parallel) > 0 {
		m.top = append(m.top, "parallel: {"+strings.Join(parallel, ", ")+"}")
	}
}

func (m *maker) node(i int) {
	letter := "p"
	var head string
	var attrs []string
	switch m.IntN(12) {
	case 0, 1:
		letter, head = "s", "kind: set, set: {n: 1}"
	case 2:
		letter, head = "s", "kind: set, set: {log: \"'SELF'\", n: 1}"
	case 3:
		letter, head = "s", "kind: set, set: {m: \"'SELF'\", got: keys(inputs)}"
	case 4, 5, 6:
		letter, head = "x", "kind: exec, command: [x]"
		attrs = m.exec()
	case 7:
		letter, head = "s", "kind: set, set: {seen: \"[keys(branches), map(values(branches), .error)]\", log: \"'SELF'\"}"
	case 8:
		switch {
		case m.chance(40):
			letter, head = "w", fmt.Sprintf("kind: wait, for: %dms", 1+m.IntN(9000))
			if m.chance(20) {
				attrs = append(attrs, m.within("timeout", 1, 9))
			}
		case m.chance(40):
			letter, head = "h", "kind: human, prompt: x, writes: [m]"
			if m.chance(40) {
				attrs = append(attrs, m.within("timeout", 0, 5))
			}
			if m.chance(40) {
				attrs = append(attrs, "default: nobody")
			}
		case m.chance(30) && i > 0:
			letter, head = "f", "kind: fail, message: x"
		default:
			letter, head = "g", "kind: exec, command: [x]"
		}
	default:
		head = "kind: pass"
	}
	id := fmt.Sprintf("%s%d", letter, i)
	m.ids = append(m.ids, id)
	if i > 1 && m.chance(35) && letter != "f" || strings.Contains(head, "seen") {
		wait := m.pick("all", "all", "all", "any", "2", "3")
		join := "join: {wait: " + wait
		if wait == "all" && m.chance(50) {
			join += ", on_bypass: " + m.pick("continue", "fail")
		}
		attrs = append(attrs, join+"}")
	}
	if m.chance(12) {
		attrs = append(attrs, fmt.Sprintf("max_visits: %d", 1+m.IntN(3)))
		if m.chance(50) {
			attrs = append(attrs, "on_max_visits: skip")
		}
	}
	if m.chance(12) {
		attrs = append(attrs, "routing: all")
	}
	if m.chance(20) {
		attrs = append(attrs, "parallel: {on_failure: "+m.pick("fail_all", "continue_others", "wait_all")+"}")
	} else if m.chance(5) {
		attrs = append(attrs, "parallel: {"+m.within("branch_timeout", 2, 12)+"}")
	} else if m.chance(8) {
		attrs = append(attrs, "parallel: {conflict: "+m.pick("first_wins", "last_wins", "error")+"}")
	}
	m.nodes = append(m.nodes, part{head: strings.ReplaceAll(head, "SELF", id), id: id, attrs: attrs})
}

func (m *maker) exec() []string {
	var attrs []string
	switch m.IntN(5) {
	case 0:
		attrs = append(attrs, "writes: [log]")
	case 1:
		attrs = append(attrs, "writes: [m]")
	case 2:
		attrs = append(attrs, "writes: {m: output, n: 2}")
	}
	switch m.IntN(8) {
	case 6:
		attrs = append(attrs, fmt.Sprintf("retry: [{on: [tool], max_attempts: 2, initial_interval: %dms, jitter: 0}, {max_attempts: 3, initial_interval: 900ms, jitter: 0}]", 1+m.IntN(4000)))
	case 0:
		attrs = append(attrs, fmt.Sprintf("retry: {max_attempts: %d, initial_interval: %dms, jitter: 0%s}", 2+m.IntN(2), 1+m.IntN(4000), m.pick("", ", on: [tool]")))
	case 1:
		attrs = append(attrs, fmt.Sprintf("timeout: %dms", 1000+m.IntN(4000)))
	case 2, 3:
		attrs = append(attrs, "each: "+m.pick("'[1, 2, 3]'", "'[4, 5]'", "'take(log, 3)'", "'[]'", "'[1, 2, 3, 4, 5]'"))
		if m.chance(30) {
			attrs = append(attrs, fmt.Sprintf("max_concurrency: %d", 1+m.IntN(2)))
		}
		if m.chance(40) {
			attrs = append(attrs, fmt.Sprintf("retry: {max_attempts: %d, initial_interval: %dms, jitter: 0}", 2+m.IntN(2), 1+m.IntN(4000)))
		}
		if m.chance(20) {
			attrs = append(attrs, fmt.Sprintf("timeout: %dms", 1000+m.IntN(4000)))
		}
	}
	return attrs
}

// to is where an edge leads: mostly on, sometimes back, sometimes out.
func (m *maker) to(i int) string {
	switch n := len(m.ids); {
	case m.chance(15):
		return "END"
	case m.chance(75) && i+1 < n:
		return m.ids[i+1+m.IntN(min(n-i-1, 3))]
	default:
		return m.ids[m.IntN(n)]
	}
}

func (m *maker) ways(i int, id string) {
	if strings.HasPrefix(id, "f") {
		return
	}
	edge := func(to string, attrs ...string) {
		m.edges = append(m.edges, part{ends: [2]string{id, to}, attrs: attrs})
	}
	if strings.HasPrefix(id, "g") {
		n := &m.nodes[i]
		n.attrs = append(n.attrs, fmt.Sprintf("ends: {x: %s, y: %s, z: %s}", m.to(i), m.to(i), m.to(i)))
		return
	}
	for range m.IntN(3) * m.IntN(2) {
		guards := []string{
			fmt.Sprintf("step %% %d == 0", 2+m.IntN(3)), fmt.Sprintf("visits.%s < %d", m.ids[m.IntN(len(m.ids))], 1+m.IntN(4)),
			fmt.Sprintf("n < %d", m.IntN(9)), "toJSON(output) == '1'", "m == 'yes'",
			fmt.Sprintf("nodes.%s.output == None", m.ids[m.IntN(len(m.ids))]),
		}
		when := m.pick(guards...)
		attrs := []string{"when: \"" + when + "\""}
		if m.chance(25) {
			attrs = append(attrs, fmt.Sprintf("priority: %d", m.IntN(4)-1))
		}
		to := m.to(i)
		if m.chance(15) {
			to = "[" + to + ", " + m.to(i) + "]"
		}
		edge(to, attrs...)
	}
	plain := 1
	if m.chance(45) {
		plain = 2 + m.IntN(2)
	}
	var targets []string
	for range plain {
		if to := m.to(i); !slices.Contains(targets, to) {
			targets = append(targets, to)
		}
	}
	for _, to := range targets {
		var attrs []string
		if m.chance(8) {
			attrs = append(attrs, "condition: always")
		}
		if m.chance(15) {
			attrs = append(attrs, "transform: {v: step}")
		}
		edge(to, attrs...)
	}
	if m.failing > 0 && m.chance(30) {
		for range 1 + m.IntN(2) {
			attrs := []string{"condition: on_failure"}
			if m.chance(30) {
				attrs = append(attrs, "when: \"error.kind == 'tool'\"")
			}
			edge(m.to(i), attrs...)
		}
	}
}
