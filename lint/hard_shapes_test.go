package lint

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// shape writes graphs of up to 100 nodes, each hard on the analyses in one way.
type shape struct {
	*rand.Rand
	b     strings.Builder
	nodes int
	many  int // policies at most
}

func (s *shape) put(format string, args ...any) { fmt.Fprintf(&s.b, format+"\n", args...) }

func (s *shape) pick(from ...string) string { return from[s.IntN(len(from))] }

func (s *shape) node() string { return fmt.Sprintf("n%d", s.IntN(s.nodes)) }

// head begins a graph with some keys, which any node may write.
func (s *shape) head(keys int) {
	s.put("graphrun: v1\nname: g\nstart: n0\nlimits: {max_steps: %d, timeout: 1h}\nstate:", 20+s.IntN(500))
	for i := range keys {
		s.put("  i%d: {type: integer, default: 0, minimum: 0, maximum: %d}\n  b%d: {type: boolean, default: false}\n  t%d: {type: string, enum: [x, y, z], default: x}\n  l%d: {type: array, items: {type: integer}, default: [], reducer: append}\n  o%d: {type: object, properties: {a: {type: integer}}}", i, 3+i, i, i, i, i)
	}
}

// newSimpleCondition returns a random condition without and, or and not.
func (s *shape) newSimpleCondition(keys int) string {
	k := s.IntN(keys)
	return s.pick(fmt.Sprintf("i%d %s %d", k, s.pick("<", ">", "==", "!="), s.IntN(5)), fmt.Sprintf("b%d", k), fmt.Sprintf("t%d == '%s'", k, s.pick("x", "y")),
		fmt.Sprintf("len(l%d) < %d", k, s.IntN(4)), fmt.Sprintf("i%d + i%d < %d", k, s.IntN(keys), s.IntN(9)), fmt.Sprintf("visits.%s < %d", s.node(), 1+s.IntN(9)),
		fmt.Sprintf("o%d?.a == %d", k, s.IntN(3)), fmt.Sprintf("%d in l%d", s.IntN(3), k), fmt.Sprintf("any(l%d, # > %d)", k, s.IntN(3)), fmt.Sprintf("step < %d", s.IntN(40)))
}

func (s *shape) condition(keys, terms int) string {
	out := s.newSimpleCondition(keys)
	for range terms - 1 {
		out += s.pick(" and ", " or ") + s.pick("", "not ") + "(" + s.newSimpleCondition(keys) + ")"
	}
	return out
}

// work writes a node that writes a key.
func (s *shape) work(i, keys int, extra string) {
	k := s.IntN(keys)
	s.put("  n%d: {%s%s}", i, s.pick(fmt.Sprintf("kind: set, set: {i%d: i%d + 1}", k, k), fmt.Sprintf("kind: exec, command: [x], writes: [b%d]", k), fmt.Sprintf("kind: exec, command: [x], writes: [t%d, i%d]", k, s.IntN(keys)),
		fmt.Sprintf("kind: set, set: {l%d: i%d}", k, k), fmt.Sprintf("kind: human, prompt: x, choices: [true, false], writes: [b%d]", k), "kind: pass", "kind: wait, for: 1s", fmt.Sprintf("kind: set, set: {b%d: \"%s\"}", k, s.newSimpleCondition(keys))), extra)
}

func (s *shape) policies(n, keys int) {
	s.put("policies:")
	for range min(n, s.many) {
		s.put("  - %s", s.pick(fmt.Sprintf("{require: %s, before: %s}", s.node(), s.node()), fmt.Sprintf("{forbid: %s, after: %s}", s.node(), s.node()),
			fmt.Sprintf("{max_visits: %d, node: %s}", 1+s.IntN(5), s.node()), fmt.Sprintf("{reach: END, from: %s}", s.node()), fmt.Sprintf("{never: \"%s\", at: %s}", s.condition(keys, 2), s.node())))
	}
}

// hardShapes returns functions that write hard graphs, by name.
func hardShapes() map[string]func(s *shape) {
	return map[string]func(s *shape){
		"loops": func(s *shape) { // each within the next, and policies about them
			s.head(6)
			s.policies(12, 6)
			s.put("nodes:")
			for i := range s.nodes {
				s.work(i, 6, "")
			}
			s.put("edges:")
			for i := range s.nodes - 1 {
				s.put("  - {from: n%d, to: n%d, when: \"%s\"}\n  - {from: n%d, to: n%d}", i, s.IntN(i+1), s.condition(6, 2), i, i+1)
			}
			s.put("  - {from: n%d, to: END}", s.nodes-1)
		},
		"joins": func(s *shape) { // fan-outs and joins in a loop
			s.head(4)
			s.policies(8, 4)
			s.put("nodes:")
			for i := range s.nodes {
				s.work(i, 4, s.pick("", "", ", join: {wait: all}", ", join: {wait: any}", ", join: {wait: 2}"))
			}
			s.put("edges:")
			for i := range s.nodes - 1 {
				s.put("  - {from: n%d, to: [n%d, n%d]}", i, min(i+1, s.nodes-1), min(i+2+s.IntN(3), s.nodes-1))
				s.put("  - {from: n%d, to: n%d, when: \"%s\"}", i, s.IntN(i+1), s.condition(4, 2))
				s.put("  - {from: n%d, to: n%d, condition: on_failure}", i, s.nodes-1)
			}
			s.put("  - {from: n%d, to: END}", s.nodes-1)
		},
		"policies": func(s *shape) {
			s.head(10)
			s.policies(100, 10)
			s.put("nodes:")
			for i := range s.nodes {
				s.work(i, 10, "")
			}
			s.put("edges:")
			for i := range s.nodes - 1 {
				s.put("  - {from: n%d, to: n%d, when: \"%s\"}\n  - {from: n%d, to: n%d}", i, i+1+s.IntN(s.nodes-i-1), s.condition(10, 2), i, i+1)
			}
			s.put("  - {from: n%d, to: END}", s.nodes-1)
		},
		"keys": func(s *shape) {
			const keys = 30
			s.head(keys)
			s.policies(5, keys)
			s.put("nodes:")
			for i := range s.nodes {
				s.work(i, keys, "")
			}
			s.put("edges:")
			for i := range s.nodes - 1 {
				s.put("  - {from: n%d, to: %s, when: \"%s\"}\n  - {from: n%d, to: n%d}", i, s.node(), s.condition(keys, 3), i, i+1)
			}
			s.put("  - {from: n%d, to: END}", s.nodes-1)
		},
		"conditions": func(s *shape) { // as long as they may be
			s.head(8)
			s.policies(5, 8)
			s.put("nodes:")
			for i := range s.nodes {
				s.work(i, 8, "")
			}
			s.put("edges:")
			for i := range s.nodes - 1 {
				s.put("  - {from: n%d, to: %s, when: \"%s\"}\n  - {from: n%d, to: n%d}", i, s.node(), s.condition(8, 40), i, i+1)
			}
			s.put("  - {from: n%d, to: END}", s.nodes-1)
		},
		"edges": func(s *shape) { // many from each node
			s.head(5)
			s.policies(5, 5)
			s.put("nodes:")
			for i := range s.nodes {
				s.work(i, 5, s.pick("", "", ", routing: all"))
			}
			s.put("edges:")
			for i := range s.nodes - 1 {
				for range 20 {
					s.put("  - {from: n%d, to: %s, when: \"%s\"}", i, s.node(), s.condition(5, 2))
				}
				s.put("  - {from: n%d, to: n%d}", i, i+1)
			}
			s.put("  - {from: n%d, to: END}", s.nodes-1)
		},
		"fans": func(s *shape) { // every node leads to many
			s.head(3)
			s.policies(10, 3)
			s.put("nodes:")
			for i := range s.nodes {
				s.work(i, 3, s.pick("", ", join: {wait: all}"))
			}
			s.put("edges:")
			for i := range s.nodes - 1 {
				s.put("  - {from: n%d, to: [n%d, %s, %s, %s, %s]}", i, i+1, s.node(), s.node(), s.node(), s.node())
			}
			s.put("  - {from: n%d, to: END}", s.nodes-1)
		},
		"failures": func(s *shape) { // branches that fail, in branches
			s.head(4)
			s.put("parallel: {on_failure: %s}", s.pick("continue_others", "wait_all"))
			s.policies(10, 4)
			s.put("nodes:")
			for i := range s.nodes {
				s.work(i, 4, s.pick("", ", retry: {max_attempts: 2}", ", max_visits: 3", ", max_visits: 2, on_max_visits: skip", ", join: {wait: all, on_bypass: fail}"))
			}
			s.put("edges:")
			for i := range s.nodes - 1 {
				s.put("  - {from: n%d, to: [n%d, n%d]}\n  - {from: n%d, to: %s, condition: on_failure}\n  - {from: n%d, to: %s, condition: always}", i, i+1, min(i+3, s.nodes-1), i, s.node(), i, s.node())
			}
			s.put("  - {from: n%d, to: END}", s.nodes-1)
		},
		"gotos": func(s *shape) {
			s.head(4)
			s.policies(6, 4)
			s.put("nodes:")
			for i := range s.nodes {
				s.work(i, 4, s.pick("", fmt.Sprintf(", goto: \"i0 > 2 ? '%s' : '%s'\", ends: [%s, %s, END]", "n1", "n2", "n1", "n2")))
			}
			s.put("edges:")
			for i := range s.nodes - 1 {
				s.put("  - {from: n%d, to: n%d}\n  - {from: n%d, to: %s, when: \"%s\"}", i, i+1, i, s.node(), s.condition(4, 2))
			}
			s.put("  - {from: n%d, to: END}", s.nodes-1)
		},
		"graphs": func(s *shape) { // graphs in graphs, each run by two nodes of the one before
			s.head(2)
			const deep = 8
			s.put("nodes:\n  n0: {kind: graph, graph: \"#g0\"}\n  n1: {kind: graph, graph: \"#g0\"}\nedges:\n  - {from: n0, to: n1}\n  - {from: n1, to: n0, when: i0 < 3}\n  - {from: n1, to: END}\ngraphs:")
			for i := range deep {
				s.put("  g%d:\n    name: g%d\n    start: n0\n    limits: {max_steps: 9}\n    state: {i0: {type: integer, default: 0}}\n    nodes:", i, i)
				for v := range s.nodes / (deep + 1) {
					if v < 3 && i+1 < deep {
						s.put("      n%d: {kind: graph, graph: \"#g%d\"}", v, i+1)
					} else {
						s.put("      n%d: {kind: set, set: {i0: i0 + 1}}", v)
					}
				}
				s.put("    edges:")
				last := s.nodes/(deep+1) - 1
				for v := range last {
					s.put("      - {from: n%d, to: n%d}\n      - {from: n%d, to: n%d, when: i0 < %d}", v, v+1, v, s.IntN(v+1), s.IntN(5))
				}
				s.put("      - {from: n%d, to: END}", last)
			}
		},
	}
}
