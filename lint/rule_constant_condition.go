// constant-condition: a condition that is the same whatever happens.

package lint

import (
	"strings"

	"github.com/graphrun/graphrun/spec"
)

func constantCondition() Rule {
	return Rule{
		Name: "constant-condition", Severity: spec.Warning,
		Summary: "a condition is always true or always false",
		Doc: `A condition that is always true makes the edges after it dead and is better written as an
edge without a condition. One that is always false makes its own edge dead. What a schema
allows counts (enum, minimum, maximum), and what the graph implies: how many steps are at
least needed to get to the edge, which nodes have run by then, and what limits allow.`,
		Bad: `graphrun: v1
name: late
start: a
nodes:
  a: {kind: pass}
  b: {kind: pass}
  c: {kind: pass}
edges:
  - {from: a, to: b}
  - {from: b, to: c}
  - {from: c, to: a, when: "step < 3"}
  - {from: c, to: END}
`,
		Good: `graphrun: v1
name: late
start: a
nodes:
  a: {kind: pass}
  b: {kind: pass}
  c: {kind: pass}
edges:
  - {from: a, to: b}
  - {from: b, to: c}
  - {from: c, to: a, when: "step < 9"}
  - {from: c, to: END}
`,
		needs: needAll,
		check: (*facts).constantConditions,
	}
}

func (f *facts) constantConditions() {
	all := f.judgements()
	for i := range all {
		for k, v := range all[i].result.Verdicts {
			value := "true"
			switch {
			case v.Never:
				value = "false"
			case !v.Always:
				continue
			}
			why := ""
			if len(v.Reasons) > 0 {
				why = ": " + strings.Join(v.Reasons, ", ")
			}
			f.report(all[i].span(k), "condition is always %s%s", value, why)
		}
	}
}
