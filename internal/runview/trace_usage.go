// What models cost, in the trace of a run and at its end.

package runview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/view"
)

// spending is what the model calls of a node came to since it was last shown.
type spending struct {
	usage  view.Usage
	models []string
}

// spend takes a call into the trace: it is shown with the node's next line.
func (t *Tracer) spend(e *runner.Event) {
	if e.Usage == nil {
		return
	}
	if t.spent == nil {
		t.spent = map[string]*spending{}
	}
	s := t.spent[e.Node]
	if s == nil {
		s = &spending{usage: view.Usage{CostUSD: new(float64)}}
		t.spent[e.Node] = s
	}
	s.usage.LLMCalls += e.Usage.Calls
	s.usage.InputTokens += e.Usage.InputTokens
	s.usage.OutputTokens += e.Usage.OutputTokens
	s.usage.CachedTokens += e.Usage.CachedTokens
	s.usage.Estimated = s.usage.Estimated || e.Usage.Estimated
	switch {
	case e.Usage.CostUSD == nil:
		s.usage.CostUSD = nil
	case s.usage.CostUSD != nil:
		*s.usage.CostUSD += *e.Usage.CostUSD
	}
	if !slices.Contains(s.models, e.Usage.Model) {
		s.models = append(s.models, e.Usage.Model)
	}
}

// takeSpent is what a node's line says of its calls; "" for none.
func (t *Tracer) takeSpent(node string) string {
	s := t.spent[node]
	if s == nil {
		return ""
	}
	delete(t.spent, node)
	return "  " + t.colors.Quiet(terminal.Line(strings.Join(s.models, ", "))+" "+UsageText(&s.usage))
}

// UsageText is usage as a person reads it: "2 calls, 812+390 tokens (600 cached), $0.0011".
func UsageText(u *view.Usage) string {
	about := ""
	if u.Estimated {
		about = "about "
	}
	text := fmt.Sprintf("%s, %s%d+%d tokens", terminal.Count(u.LLMCalls, "call"), about, u.InputTokens, u.OutputTokens)
	if u.CachedTokens > 0 {
		text += fmt.Sprintf(" (%d cached)", u.CachedTokens)
	}
	switch {
	case u.CostUSD == nil:
		text += ", price unknown"
	case *u.CostUSD > 0:
		text += fmt.Sprintf(", $%.4f", *u.CostUSD)
	}
	return text
}
