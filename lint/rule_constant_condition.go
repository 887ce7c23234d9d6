// constant-condition: a condition that is the same whatever happens.

package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

func constantCondition() Rule {
	return Rule{
		Name: "constant-condition", Group: "expressions", Severity: spec.Warning,
		Summary: "a condition is always true or always false",
		Doc: `A condition that is always true makes the edges after it dead and is better written as an
edge without a condition. One that is always false makes its own edge dead. What a schema
allows counts (enum, minimum, maximum), and what the graph implies: how many steps are at
least needed to get to the edge, which nodes have run by then, and what limits allow. A part of a
condition that asks for a value which an enum does not have makes no difference, either.
The same holds for a comparison of type(x) with a word that is no result of it, such as map.`,
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
		change: []string{"step < 3", "step < 9"},
		needs:  needAll,
		check:  (*facts).constantConditions,
	}
}

func (f *facts) constantConditions() {
	f.typeNames()
	all := f.judgements()
	for i := range all {
		for k, v := range all[i].result.Verdicts {
			value := "true"
			switch {
			case v.Never:
				value = "false"
			case !v.Always:
				f.idleParts(&all[i], k)
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

// idleParts reports the parts of a condition that compare a state key with what its enum
// lacks: they say the same whatever happens, though the condition does not.
func (f *facts) idleParts(d *judgement, k int) {
	d.conditions[k].Tree().Each(func(t *eval.Tree) {
		if t.Op != eval.TreeBinary || len(t.Args) != 2 || t.Name != "==" && t.Name != "!=" && t.Name != "in" {
			return
		}
		for i, side := range t.Args {
			if t.Name == "in" && i > 0 || side.Op != eval.TreePath || len(side.Path) != 1 {
				continue
			}
			key := f.graph.Key(side.Path[0])
			if key == nil {
				continue
			}
			values, listed := domain.Literals(key.Schema)
			asked := []*eval.Tree{t.Args[1-i]}
			if t.Name == "in" {
				asked = t.Args[1].Args
			}
			for _, c := range asked {
				word, isText := c.Value.(string)
				if !listed || c.Op != eval.TreeConst || !isText || slices.Contains(values, any(word)) {
					continue
				}
				near := suggest.Closest(word, textsOf(values))
				if near != "" {
					near = "; did you mean " + strconv.Quote(near) + "?"
				}
				f.report(d.span(k), "%s is never %s: it is %s%s", key.Name.Value, strconv.Quote(word), domain.OneOf(values), near)
			}
		}
	})
}

// textsOf are the texts among some values.
func textsOf(values []any) []string {
	var out []string
	for _, v := range values {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
