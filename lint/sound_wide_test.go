package lint_test

import (
	"fmt"
	"slices"
	"strings"
)

// plot is a random graph in the making.
type plot struct {
	maker
	ids, nodes []string
	edges      []plotEdge
	programs   int
	top        string
}

type plotEdge struct{ from, to, more string }

func (p *plot) chance(percent int) bool { return p.IntN(100) < percent }

func (p *plot) node(id, body string) {
	p.ids, p.nodes = append(p.ids, id), append(p.nodes, body)
}

func (p *plot) edge(from, to, more string) { p.edges = append(p.edges, plotEdge{from, to, more}) }

func (p *plot) any() string { return p.ids[p.IntN(len(p.ids))] }

func (p *plot) join() string {
	return "join: {wait: " + p.pick("all", "all", "all", "all, on_bypass: continue", "all, on_bypass: fail", "all, on_bypass: drop", "any", "2", "3") + "}"
}

func (p *plot) tolerance() string {
	return "parallel: {on_failure: " + p.pick("continue_others", "wait_all", "fail_all") + "}"
}

// worker adds a node of a branch and reports whether it may fail.
func (p *plot) worker(id string) bool {
	extra := ""
	if p.chance(15) {
		extra += fmt.Sprintf(", max_visits: %d%s", 1+p.IntN(2), p.pick("", "", ", on_max_visits: skip"))
	}
	if p.programs < 3 && p.chance(55) {
		p.programs++
		if p.chance(15) {
			extra += p.pick(", retry: {max_attempts: 2, initial_interval: 1s, jitter: 0}", ", timeout: 2s")
		}
		if p.chance(30) {
			extra += p.pick(", writes: [ok]", ", writes: {k: \"'x'\"}", ", writes: {i: \"2\"}")
		}
		p.node(id, "kind: exec, command: [x], output: {type: boolean}"+extra)
		return true
	}
	switch k := p.IntN(20); {
	case k < 2:
		p.node(id, "kind: human, prompt: x, choices: [true, false], writes: [ok]"+extra)
	case k < 3:
		p.node(id, "kind: wait, for: "+p.pick("1s", "2s", "1m")+extra)
	case k < 4:
		p.node(id, "kind: pass, before: {r: len("+p.pick("k", "l")+")}"+extra)
	case k < 12:
		p.node(id, "kind: set, set: {"+p.pick("k: \"'x'\"", "l: \"'x'\"", "m: \"'x'\"", "m: l", "ok: true", "ok: not ok", "i: (i + 1) % 4", p.list())+"}"+extra)
	default:
		p.node(id, "kind: pass"+extra)
	}
	return false
}

// list returns an assignment to a list, or of a value computed from a list.
func (p *plot) list() string {
	return p.pick("q: 'concat(q, [i])'", "q: 'take(q, 1)'", "q: '[]'", "ok: 'len(q) > 1'", "ok: 'i in q'", "ok: 'any(q, # > 1)'", "ok: 'q == [] or ok'", "i: 'len(q) % 4'")
}

// guard returns a condition.
func (p *plot) guard() string {
	return p.pick("ok", "not ok", "i < 2", "i == 1", "visits.s < 2", fmt.Sprintf("visits.%s < %d", p.any(), 1+p.IntN(2)), "ok and i > 0", "step < 9", "k != None", "(l ?? '') != ''", "l == None or ok", "len(q) < 2", "1 in q", "q == []", "m == None", "m != 'x'", "(m ?? '') == 'x'")
}

// branched makes a graph of branches whose programs may fail before a join.
// Failure edges lead elsewhere, back into the branch, or to the join. A branch
// may branch again.
func (p *plot) branched() {
	more := ""
	if p.chance(40) {
		more = ", " + p.tolerance()
	}
	p.node("s", "kind: pass"+more)
	p.node("j", p.pick("kind: pass", "kind: set, set: {k: \"'y'\"}")+", "+p.join())
	var firsts []string
	inner := false
	for b := range 2 + p.IntN(2) {
		first, last := p.branch(fmt.Sprintf("b%d", b), 1+p.IntN(2))
		firsts = append(firsts, first)
		to := "j"
		if !inner && p.chance(20) {
			inner = true
			one, lastOne := p.branch("x", 1)
			two, lastTwo := p.branch("y", 1)
			p.node("i", "kind: pass, "+p.join())
			p.edge(last, one, "")
			p.edge(last, two, "")
			p.edge(lastOne, "i", "")
			p.edge(lastTwo, "i", "")
			if last = "i"; p.chance(30) {
				p.edge("i", "h", "condition: on_failure")
			}
		} else if p.chance(15) {
			to = p.pick("END", "h2")
		}
		p.edge(last, to, "")
		if p.chance(8) {
			p.edge(last, p.pick("END", "h2", "j"), "condition: always")
		}
		if p.chance(12) {
			p.edge(last, p.pick("END", "h", "j", first), "when: \""+p.guard()+"\"")
		}
	}
	for _, first := range firsts {
		p.edge("s", first, "")
	}
	if p.chance(10) {
		p.edge("s", firsts[0], "when: \""+p.guard()+"\"")
	}
	p.node("h", "kind: set, set: {"+p.pick("k: \"'x'\"", "l: \"'x'\"")+"}")
	p.node("h2", "kind: pass, before: {r: len("+p.pick("k", "l")+")}"+p.pick("", "", ", "+p.join()))
	p.edge("h", p.pick("END", "END", "h2", "j", "b00"), "")
	p.edge("h2", p.pick("END", "END", "j", "d"), "")
	if p.chance(30) {
		p.edge("j", p.pick("h2", "h", "END"), "condition: on_failure")
	}
	p.node("d", "kind: pass, before: {r: len("+p.pick("k", "l")+")}")
	p.edge("j", "d", "")
	if p.chance(25) {
		p.edge("d", "s", "when: "+p.pick("visits.d < 2", "visits.s < 3"))
	}
	p.edge("d", "END", "")
}

func (p *plot) branch(name string, n int) (first, last string) {
	for i := range n {
		id := fmt.Sprintf("%s%d", name, i)
		if p.worker(id) && p.chance(70) {
			more := ""
			if p.chance(15) {
				more = ", when: \"" + p.guard() + "\""
			}
			p.edge(id, p.pick("h", "h", "h", "h2", "j", "END", name+"0"), "condition: on_failure"+more)
		}
		if last != "" {
			p.edge(last, id, "")
		}
		last = id
	}
	return name + "0", last
}

// tangled makes a graph in which any node may lead to any other.
func (p *plot) tangled() {
	n := 3 + p.IntN(4)
	var failing []string
	for v := range n {
		id := fmt.Sprintf("n%d", v)
		if p.worker(id) {
			failing = append(failing, id)
		}
		if v > 0 && p.chance(30) {
			p.nodes[v] += ", " + p.join()
		}
		if p.chance(20) {
			p.nodes[v] += ", " + p.tolerance()
		}
		if p.chance(6) {
			p.nodes[v] += ", routing: all"
		}
	}
	for v := range n {
		id := p.ids[v]
		to := func() string {
			if p.chance(60) && v+1 < n {
				return p.ids[v+1+p.IntN(min(2, n-v-1))]
			}
			return p.target(n)
		}
		for range p.IntN(2) {
			p.edge(id, to(), "when: \""+p.guard()+"\"")
		}
		one, two := to(), to()
		p.edge(id, one, "")
		if two != one && p.chance(40) {
			p.edge(id, two, "")
		}
		if slices.Contains(failing, id) && p.chance(60) {
			p.edge(id, to(), "condition: on_failure")
		}
	}
}

// finish drops unreachable nodes, and gives every other node a path to END.
func (p *plot) finish() {
	reached := map[string]bool{p.ids[0]: true}
	for again := true; again; {
		again = false
		for _, e := range p.edges {
			if reached[e.from] && !reached[e.to] {
				reached[e.to], again = true, true
			}
		}
	}
	p.edges = slices.DeleteFunc(p.edges, func(e plotEdge) bool { return !reached[e.from] })
	ends := map[string]bool{"END": true}
	grow := func() {
		for again := true; again; {
			again = false
			for _, e := range p.edges {
				if ends[e.to] && !ends[e.from] {
					ends[e.from], again = true, true
				}
			}
		}
	}
	var ids, nodes []string
	for i, id := range p.ids {
		if !reached[id] {
			continue
		}
		if grow(); !ends[id] {
			p.edge(id, "END", "when: "+p.pick("ok", "not ok", "i < 2"))
		}
		ids, nodes = append(ids, id), append(nodes, p.nodes[i])
	}
	p.ids, p.nodes = ids, nodes
}

// newWidePlot returns a random graph with programs, people, delays, branches, joins and limits.
func (m maker) newWidePlot() *plot {
	p := &plot{maker: m}
	if p.chance(60) {
		p.branched()
	} else {
		p.tangled()
	}
	p.finish()
	p.top = fmt.Sprintf("limits: {max_steps: %d%s}\n", 8+p.IntN(14), p.pick("", "", "", ", max_visits: 2", ", on_max_steps: return_last"))
	if p.chance(30) {
		p.top += p.tolerance() + "\n"
	}
	return p
}

// text writes the graph, with a policy if there is one; valued gives every key a
// value, so that no expression ends a run before its policy does.
func (p *plot) text(policy string, valued bool) string {
	var b strings.Builder
	none := ""
	if valued {
		none = ", default: x"
	}
	fmt.Fprintf(&b, "graphrun: v1\nname: g\nstart: %s\n%sstate:\n  i: {type: integer, minimum: 0, maximum: 3, default: 0}\n  ok: {type: boolean, default: false}\n  r: {type: integer, default: 0}\n  k: {type: string%s}\n  l: {type: string%s}\n  m: {type: string}\n  q: {type: array, items: {type: integer}, default: []}\n", p.ids[0], p.top, none, none)
	if policy != "" {
		b.WriteString("policies: [" + policy + "]\n")
	}
	b.WriteString("nodes:\n")
	for i, id := range p.ids {
		fmt.Fprintf(&b, "  %s: {%s}\n", id, p.nodes[i])
	}
	b.WriteString("edges:\n")
	for _, e := range p.edges {
		more := ""
		if e.more != "" {
			more = ", " + e.more
		}
		fmt.Fprintf(&b, "  - {from: %s, to: %s%s}\n", e.from, e.to, more)
	}
	return b.String()
}

// ask returns a policy about the nodes of the graph.
func (p *plot) ask() string {
	switch p.IntN(8) {
	case 0, 1:
		return fmt.Sprintf("{forbid: %s, after: %s}", p.pick(p.any(), p.any(), "END"), p.any())
	case 2:
		return fmt.Sprintf("{max_visits: %d, node: %s}", 1+p.IntN(2), p.any())
	case 3:
		return fmt.Sprintf("{require: %s, before: END}", p.any())
	case 4:
		return fmt.Sprintf("{never: \"%s\", at: %s}", p.guard(), p.any())
	}
	a, b := p.any(), p.any()
	if last := p.ids[len(p.ids)-1]; p.chance(50) {
		b = last
	}
	if a == b {
		return p.ask()
	}
	return fmt.Sprintf("{require: %s, before: %s}", a, b)
}
