package machine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// checks is a fan-out of two checks into a join; what fails goes to a notice.
func checks(join string) string {
	return `
state: {log: {type: array, reducer: append, default: []}, seen: {}}
nodes:
  a: {kind: pass}
  lint: {kind: exec, command: [x]}
  test: {kind: exec, command: [x]}
  ready: {kind: set, join: {` + join + `}, set: {seen: keys(inputs)}}
  deploy: {kind: pass}
  notify: {kind: exec, command: [x]}
edges:
  - {from: a, to: [lint, test]}
  - {from: [lint, test], to: ready}
  - {from: [lint, test], to: notify, condition: on_failure}
  - {from: ready, to: deploy}
  - {from: [deploy, notify], to: END}
`
}

// A failure never counts as an arrival (GraphSpec §7).
func TestBypass(t *testing.T) {
	red := replies{"lint": once(after(2, "ok")), "test": once(fails(1))}
	allRed := replies{"lint": once(fails(2)), "test": once(fails(1))}
	caught := "  - {from: ready, to: notify, condition: on_failure}\n"
	redAgain := replies{"test": once(after(1, nil), fails(1))}
	again := func(flow string) string { return flow + "  - {from: deploy, to: a, when: visits.a < 2}\n" }
	runAll(t, []simCase{
		{
			name: "without a failure the join goes on", flow: checks("wait: all"), path: "a lint test ready deploy", quality: machine.Clean,
		},
		{
			name: "drop is the default: what waits there ends", flow: checks("wait: all"), replies: red,
			path: "a lint test notify", quality: machine.Degraded, took: 2,
		},
		{
			name: "drop, whichever came first", flow: checks("wait: all, on_bypass: drop"),
			replies: replies{"lint": once(after(1, nil)), "test": once(fails(2)), "notify": once(after(3, "sent"))},
			path:    "a lint test notify", quality: machine.Degraded, output: "sent",
		},
		{
			name: "drop when every branch leaves", flow: checks("wait: all"), replies: allRed, path: "a lint test notify", quality: machine.Degraded,
		},
		{
			name: "continue goes on with those that arrived", flow: checks("wait: all, on_bypass: continue"), replies: red,
			path: "a lint test ready notify deploy", quality: machine.Degraded, state: map[string]any{"seen": []any{"lint"}},
		},
		{
			name: "continue needs somebody who arrived", flow: checks("wait: all, on_bypass: continue"), replies: allRed,
			path: "a lint test notify", quality: machine.Degraded,
		},
		{
			name: "fail fails the join, and tells why", flow: checks("wait: all, on_bypass: fail"), replies: red,
			path: "a lint test notify ready", status: machine.Failed, kind: "bypassed", at: "ready", says: `failure edge of "test"`,
		},
		{
			name: "fail when nobody arrived", flow: checks("wait: all, on_bypass: fail"), replies: allRed,
			path: "a lint test notify ready", status: machine.Failed, kind: "bypassed", at: "ready", says: `"lint" and "test"`,
		},
		{
			name: "fail lets those end that bypass it", flow: checks("wait: all, on_bypass: fail"),
			replies: replies{"test": once(fails(1)), "notify": once(after(5, nil))}, path: "a lint test notify ready", took: 6,
			status: machine.Failed, kind: "bypassed",
		},
		{
			name: "the failure edges of the join apply", flow: checks("wait: all, on_bypass: fail") + caught, replies: red,
			path: "a lint test notify ready notify", quality: machine.Degraded,
		},
		{
			name: "a join that may not run once more is not bypassed but refused",
			flow: again(checks("wait: all, on_bypass: fail}, max_visits: 1, writes: {seen: keys(inputs)")), replies: redAgain,
			path: "a lint test ready deploy a lint test notify", status: machine.Limit, reason: "max_visits", at: "ready",
		},
		{
			name: "or skipped", replies: redAgain,
			flow: again(checks("wait: all, on_bypass: fail}, max_visits: 1, on_max_visits: skip, writes: {seen: keys(inputs)")),
			path: "a lint test ready deploy a lint test notify ready deploy", quality: machine.Degraded,
		},
		{
			name:    "a failure edge that leads back to the join is an arrival",
			flow:    strings.ReplaceAll(checks("wait: all"), "from: [deploy, notify], to: END}", "from: deploy, to: END}\n  - {from: notify, to: ready}"),
			replies: replies{"test": once(fails(1))}, path: "a lint test notify ready deploy", quality: machine.Degraded,
			state: map[string]any{"seen": []any{"lint", "notify"}},
		},
		{
			name:    "a branch that is repaired arrives",
			flow:    strings.ReplaceAll(checks("wait: all"), "from: [deploy, notify], to: END}", "from: deploy, to: END}\n  - {from: notify, to: test}"),
			replies: replies{"test": once(fails(1), after(1, nil))}, path: "a lint test notify test ready deploy", quality: machine.Degraded,
		},
		{
			name: "a branch that could be repaired and is not bypasses the join",
			flow: strings.ReplaceAll(checks("wait: all"), "from: [deploy, notify], to: END}",
				"from: notify, to: test, when: visits.test < 3}\n  - {from: [notify, deploy], to: END}"),
			replies: replies{"test": once(fails(1))}, path: "a lint test notify test notify test notify", quality: machine.Degraded,
		},
		{
			name: "one that failed where no way led to the join does not bypass it",
			flow: strings.NewReplacer("  deploy: {", "  extra: {kind: exec, command: [x]}\n  deploy: {", "from: [lint, test], to: ready}",
				"from: lint, to: ready}\n  - {from: test, to: ready, when: visits.test > 1}\n  - {from: test, to: extra}\n"+
					"  - {from: extra, to: END}\n  - {from: extra, to: notify, condition: on_failure}").Replace(checks("wait: all")),
			replies: replies{"extra": once(fails(1))}, path: "a lint test ready extra deploy notify", quality: machine.Degraded,
		},
	})
}

// twoJoins is a branch that branches again, with a join for each.
func twoJoins(inner, outer string) string {
	return `
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x]}
  n: {kind: pass}
  n1: {kind: exec, command: [x]}
  n2: {kind: exec, command: [x]}
  nj: {kind: pass, join: {` + inner + `}}
  d: {kind: pass, join: {` + outer + `}}
  e: {kind: pass}
  h: {kind: exec, command: [x]}
edges:
  - {from: a, to: [b, n]}
  - {from: n, to: [n1, n2]}
  - {from: [n1, n2], to: nj}
  - {from: [b, nj], to: d}
  - {from: [n1, nj], to: h, condition: on_failure}
  - {from: d, to: e}
  - {from: [e, h], to: END}
`
}

// A join that does not go on is a branch that does not come to the next one.
func TestBypassOfNestedJoins(t *testing.T) {
	red := replies{"n1": once(fails(1))}
	late := func(flow string) string {
		return strings.Replace(flow, "b: {kind: exec, command: [x]}", "b: {kind: wait, for: 9s}", 1)
	}
	runAll(t, []simCase{
		{name: "what drops at the inner join bypasses the outer", flow: twoJoins("wait: all", "wait: all"), replies: red, path: "a b n n1 n2 h"},
		{name: "likewise when the other branch is late", flow: late(twoJoins("wait: all", "wait: all")), replies: red, path: "a n n1 n2 h b"},
		{
			name: "branches that meet before the join stay beside the one that bypasses it",
			flow: `
nodes:
  a: {kind: pass}
  j: {kind: pass, join: {wait: all, on_bypass: fail}}
  b: {kind: exec, command: [x]}
  c: {kind: wait, for: 9s}
  red: {kind: exec, command: [x]}
  bc: {kind: pass, join: {wait: all}}
  d: {kind: pass}
  h: {kind: pass}
edges:
  - {from: a, to: [b, c, red]}
  - {from: [b, c], to: bc}
  - {from: [bc, red], to: j}
  - {from: j, to: d}
  - {from: [red, j], to: h, condition: on_failure}
  - {from: [d, h], to: END}
`,
			replies: replies{"red": once(fails(1))}, path: "a b red h c bc j h", quality: machine.Degraded,
		},
		{
			name: "the outer hears of it although it is declared before an inner that nobody comes to",
			flow: `
nodes:
  a: {kind: pass}
  d: {kind: pass, join: {wait: all}}
  b: {kind: pass}
  n: {kind: exec, command: [x]}
  n1: {kind: pass}
  n2: {kind: pass}
  nj: {kind: pass, join: {wait: any}}
  h: {kind: pass}
edges:
  - {from: a, to: [b, n]}
  - {from: n, to: [n1, n2]}
  - {from: n, to: h, condition: on_failure}
  - {from: [n1, n2], to: nj}
  - {from: [b, nj], to: d}
  - {from: [d, h], to: END}
`, replies: replies{"n": once(fails(1))}, path: "a b n h", quality: machine.Degraded,
		},
		{
			name: "the outer may go on without it", flow: late(twoJoins("wait: all", "wait: all, on_bypass: continue")), replies: red,
			path: "a n n1 n2 h b d e",
		},
		{
			name: "an inner join that continues has dealt with it", flow: twoJoins("wait: all, on_bypass: continue", "wait: all"), replies: red,
			path: "a b n n1 n2 h nj d e",
		},
		{
			name: "an inner any join with a branch to go on with, too", flow: twoJoins("wait: any", "wait: all"),
			replies: replies{"n1": once(fails(1)), "n2": once(after(2, nil))}, path: "a b n n1 n2 h nj d e",
		},
		{
			name: "an inner any join to which nobody comes bypasses the outer", flow: strings.Replace(twoJoins("wait: any", "wait: all"), "from: [n1, nj]", "from: [n1, n2, nj]", 1),
			replies: replies{"n1": once(fails(1)), "n2": once(fails(1))}, path: "a b n n1 n2 h",
		},
		{
			name: "an inner join that fails takes its own failure edges, and so bypasses the outer", flow: twoJoins("wait: all, on_bypass: fail", "wait: all"),
			replies: red, path: "a b n n1 n2 h nj h",
		},
		{
			name: "the outer fails in its turn", flow: twoJoins("wait: all", "wait: all, on_bypass: fail"), replies: red,
			path: "a b n n1 n2 h d", status: machine.Failed, kind: "bypassed", at: "d", says: `of "n1"`,
		},
	})
}

// mesh is joins each of which leads to all others, and to the end; what should come to
// two of them fails.
func mesh(joins int) string {
	var b, edges strings.Builder
	b.WriteString("nodes:\n  a: {kind: pass}\n  left: {kind: exec, command: [x]}\n  right: {kind: exec, command: [x]}\n  z: {kind: pass}\n")
	for i := range joins {
		fmt.Fprintf(&b, "  j%d: {kind: pass, join: {wait: all}}\n", i)
		fmt.Fprintf(&edges, "  - {from: j%d, to: z}\n", i)
		for j := range joins {
			if i != j {
				fmt.Fprintf(&edges, "  - {from: j%d, to: j%d, when: visits.z == %d}\n", i, j, j)
			}
		}
	}
	b.WriteString("edges:\n  - {from: a, to: [left, right]}\n  - {from: left, to: j0}\n  - {from: right, to: j1}\n" +
		"  - {from: [left, right], to: z, condition: on_failure}\n  - {from: z, to: END}\n")
	return b.String() + edges.String()
}

// Between n joins in loops are 2ⁿ ways: which of them a branch bypasses is known
// without going each.
func TestBypassOfJoinsInLoops(t *testing.T) {
	for joins, most := range map[int]int{5: 150, 10: 2_500, 20: 50_000, 40: 1_000_000} {
		simCase{
			name: fmt.Sprint(joins), flow: mesh(joins), replies: replies{"left": once(fails(1)), "right": once(fails(1))},
			path: "a left right z", quality: machine.Degraded,
			check: func(t *testing.T, s *sim) {
				if s.state.Looked > most {
					t.Errorf("%d joins are compared with %d branches and joins, want at most %d", joins, s.state.Looked, most)
				}
			},
		}.run(t)
	}
}

// What parallel.on_failure does with a branch that fails for good is no bypass.
func TestBypassAndFailurePolicies(t *testing.T) {
	fixed := strings.ReplaceAll(checks("wait: all"), "from: [deploy, notify], to: END}", "from: deploy, to: END}\n  - {from: notify, to: test}")
	doomed := strings.ReplaceAll(checks("wait: all"), "  notify: {kind: exec, command: [x]}", "  notify: {kind: fail, message: no}")
	doomed = strings.ReplaceAll(doomed, "[deploy, notify], to: END", "deploy, to: END")
	runAll(t, []simCase{
		{
			name: "a failure that continue_others dropped is not waited for", flow: goOn + strings.ReplaceAll(checks("wait: all"), "from: [lint, test], to: notify", "from: lint, to: notify"),
			replies: replies{"test": once(fails(1))}, path: "a lint test ready deploy", quality: machine.Degraded,
		},
		{
			name: "nor is one dropped on its way back", flow: goOn + fixed,
			replies: replies{"test": once(fails(1)), "notify": once(fails(1))}, path: "a lint test notify ready deploy", quality: machine.Degraded,
		},
		{
			name: "one that had left already bypasses the join: no branch is left to go on with", flow: goOn + doomed,
			replies: replies{"test": once(fails(1))}, path: "a lint test notify", status: machine.Failed, at: "notify",
		},
		{
			name: "wait_all gives the join the error of a branch that fails for good", flow: waitAll + strings.ReplaceAll(doomed, "set: {seen: keys(inputs)}", "set: {seen: keys(branches)}"),
			replies: replies{"test": once(fails(1))}, path: "a lint test notify ready deploy", quality: machine.Degraded,
			state: map[string]any{"seen": []any{"lint", "notify"}},
		},
	})
}
