// Nodes that the limits of the run leave no room for.

package lint

import (
	"time"

	"github.com/graphrun/graphrun/eval"
)

// beyondLimits reports the nodes that can never do their work within the limits:
// before a call, the most that it can take must be left of the budget (GraphSpec §9),
// and a time that passes in a wait is time of the run.
func (f *facts) beyondLimits() {
	limits := &f.graph.Limits
	for _, n := range f.graph.Nodes {
		if v := n.Field("max_tokens"); v != nil && isModel(n) && limits.MaxTokens > 0 {
			if most, ok := v.Data().(int); ok && most >= limits.MaxTokens {
				d := f.report(v.Span, "a call of %q may take %d tokens besides its prompt, and limits.max_tokens is %d: it is never made", n.ID.Value, most, limits.MaxTokens)
				d.Related = append(d.Related, f.related(limits.Span, "the limits of the run"))
			}
		}
		if v := n.Field("for"); v != nil && n.Kind.Value == "wait" && limits.Timeout > 0 {
			if wait, err := time.ParseDuration(v.Text.Value); err == nil && wait > limits.Timeout {
				d := f.report(v.Span, "%q waits %s, and limits.timeout ends the run after %s", n.ID.Value, v.Text.Value, eval.DurationText(limits.Timeout))
				d.Related = append(d.Related, f.related(limits.Span, "the limits of the run"))
			}
		}
	}
}
