// The rules about limits: step-limit-too-low, missing-timeout.

package lint

import (
	"slices"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/spec"
)

func limitRules() []Rule {
	return []Rule{
		{
			Name: "missing-timeout", Group: "limits", Severity: spec.Warning, needs: needNode,
			Summary: "a node that runs a program, a request or a model has no time limit",
			Doc:     "Programs, servers and models may never answer. Without a timeout on the node, a limits.node_timeout for every node, or a limits.timeout for the run, such a node can hang for ever.",
			Bad:     single("get", "", `{kind: http, url: "https://example.org/"}`),
			change:  []string{`org/"`, `org/", timeout: 10s`},
			check:   checkMissingTimeout,
		},
		{
			Name: "step-limit-too-low", Group: "limits", Severity: spec.Warning, needs: needShape,
			Summary: "a limit of the run is used up before END can be reached, or before a node can do its work",
			Doc: "Every node execution is a step. When even the shortest path from the start to END takes more steps than limits.max_steps, every run ends at the limit. " +
				"So does one that comes to a model call whose max_tokens are as many as limits.max_tokens, or to a wait that is longer than limits.timeout. Raise the limit.",
			Bad:    startAt("one") + "limits: {max_steps: 2}\n" + passNodes("one", "two", "three") + edges("from: one, to: two", "from: two, to: three", "from: three, to: END"),
			change: []string{"max_steps: 2", "max_steps: 3"},
			check:  checkStepLimit,
		},
	}
}

func checkStepLimit(f *facts) {
	f.checkBudgets()
	limits := &f.graph.Limits
	if f.flow().Anywhere || limits.MaxSteps == 0 || limits.OnMaxSteps != "fail" {
		return
	}
	path := graphalg.Path(f.flow().Digraph.Next, f.Start(), f.End)
	if steps := len(path) - 1; steps > limits.MaxSteps {
		f.report(limits.MaxStepsSpan, "max_steps is %d, but the shortest path to END takes %s: %s",
			limits.MaxSteps, eval.Count(steps, "step"), f.pathText(path))
	}
}

// checkBudgets reports the nodes that can never do their work within the limits: before a
// call, the most that it can take must be left of the budget (GraphSpec §9).
func (f *facts) checkBudgets() {
	limits := &f.graph.Limits
	report := func(at spec.Span, format string, args ...any) {
		d := f.report(at, format, args...)
		d.Related = append(d.Related, f.related(limits.Span, "the limits of the run"))
	}
	for _, n := range f.graph.Nodes {
		if v := n.Field("max_tokens"); v != nil && isModel(n) && limits.MaxTokens > 0 {
			if most, ok := v.Data().(int); ok && most >= limits.MaxTokens {
				report(v.Span, "a call of %q may take %d tokens besides its prompt, and limits.max_tokens is %d: it is never made", n.ID.Value, most, limits.MaxTokens)
			}
		}
		if v := n.Field("for"); v != nil && n.Kind.Value == "wait" && limits.Timeout > 0 {
			if wait, err := time.ParseDuration(v.Text.Value); err == nil && wait > limits.Timeout {
				report(v.Span, "%q waits %s, and limits.timeout ends the run after %s", n.ID.Value, v.Text.Value, eval.DurationText(limits.Timeout))
			}
		}
	}
}

func checkMissingTimeout(f *facts) {
	limits := f.graph.Limits
	if limits.NodeTimeout > 0 || limits.Timeout > 0 || limits.StepTimeout > 0 || f.graph.Faulty(limits.Span) {
		return
	}
	for _, n := range f.graph.Nodes {
		if slices.Contains([]string{"agent", "exec", "http", "llm"}, n.Kind.Value) && n.Timeout == 0 && !f.graph.Faulty(n.Span) {
			f.report(n.ID.Span, "%q has no time limit; give it a timeout, or set limits.node_timeout or limits.timeout", n.ID.Value)
		}
	}
}
