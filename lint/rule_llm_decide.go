// llm-decide-no-fallback and llm-decide-single: decisions of the router model.

package lint

import "github.com/graphrun/graphrun/spec"

func llmDecideNoFallback() Rule {
	return Rule{
		Name: "llm-decide-no-fallback", Group: "models", Severity: spec.Warning, needs: needNode,
		Summary: "no edge fires when the router model's decision fails",
		Doc: "A model may fail, time out or name no candidate. The edge with fallback: true fires then; without one the run is stuck. " +
			"It may stand on one of the llm_decide edges or on an on_success edge of the node.",
		Bad: `graphrun: v1
name: route
start: read
models: {default: openai/gpt-6-luna}
nodes:
  read: {kind: pass}
  search: {kind: pass}
  answer: {kind: pass}
edges:
  - {from: read, to: search, condition: llm_decide, description: facts are missing}
  - {from: read, to: answer, condition: llm_decide, description: it can be answered}
  - {from: [search, answer], to: END}
`,
		change: []string{"can be answered}", "can be answered, fallback: true}"},
		check: func(f *facts) {
			for _, d := range f.decisions() {
				if len(d.edges) > 1 && !d.fallback {
					f.report(d.edges[0].From.Span, "the decision at %q has no fallback; mark one of its edges with fallback: true", d.edges[0].From.Value)
				}
			}
		},
	}
}

func llmDecideSingle() Rule {
	return Rule{
		Name: "llm-decide-single", Group: "models", Severity: spec.Warning, needs: needNode,
		Summary: "a decision of the router model has a single candidate",
		Doc:     "One llm_decide edge is no choice: it fires without a call. Add the other candidates, or drop the condition.",
		Bad: `graphrun: v1
name: route
start: read
models: {default: openai/gpt-6-luna}
nodes:
  read: {kind: pass}
  answer: {kind: pass}
edges:
  - {from: read, to: answer, condition: llm_decide, description: it can be answered}
  - {from: answer, to: END}
`,
		change: []string{"models: {default: openai/gpt-6-luna}\n", "", ", condition: llm_decide, description: it can be answered", ""},
		check: func(f *facts) {
			for _, d := range f.decisions() {
				if len(d.edges) == 1 {
					f.report(d.edges[0].To.Span, "the decision at %q has one candidate, %q, which fires without a call", d.edges[0].From.Value, d.edges[0].To.Value)
				}
			}
		},
	}
}

// decision is the llm_decide edges of one node.
type decision struct {
	edges    []*spec.Edge
	fallback bool
}

// decisions lists the nodes where the router model decides, in the order of
// their first edges.
func (f *facts) decisions() []decision {
	at := map[string]int{}
	var out []decision
	for _, e := range f.graph.Edges {
		if e.Condition != "llm_decide" {
			continue
		}
		i, known := at[e.From.Value]
		if !known {
			i = len(out)
			at[e.From.Value] = i
			out = append(out, decision{})
		}
		out[i].edges = append(out[i].edges, e)
	}
	for _, e := range f.graph.Edges {
		if i, known := at[e.From.Value]; known && e.Fallback {
			out[i].fallback = true
		}
	}
	return out
}
