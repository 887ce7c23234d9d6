// The decisions of a run as text.

package runview

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner/view"
)

const maxFailure = 144 // most columns of a failure

// FormatDecision formats a step and the edges that it could have taken.
func FormatDecision(d *inspect.Decision, c terminal.Colors) []string {
	name := formatVisit(d.At(), d.Visit)
	if d.Outcome == "failure" {
		name += c.Bad("  failed")
	}
	next := cmp.Or(strings.Join(d.Shown, ", "), "nowhere")
	out := []string{c.Quiet(fmt.Sprintf("[%d]", d.Step)) + " " + c.Strong(name) + " → " + next}
	if d.Error != nil {
		out = append(out, "  "+c.Bad(terminal.Truncate(formatFailure(d.Error), maxFailure)))
		out = append(out, formatLastOutput(d.Error, c)...)
	}
	width := 0
	for i := range d.Candidates {
		width = max(width, terminal.Width(d.Candidates[i].To))
	}
	for i := range d.Candidates {
		e := &d.Candidates[i]
		mark := c.Quiet("-")
		if e.Fired {
			mark = c.Good("✓")
		}
		why, parts := e.Why, []string(nil)
		if e.Test != nil {
			why, parts = explainCondition(e.Test)
		}
		out = append(out, fmt.Sprintf("  %s %s  %s  %s", mark, terminal.Pad(e.To, width),
			c.Quiet(terminal.Pad(e.Condition, len("conditional"))), terminal.Line(why)))
		for _, part := range parts {
			out = append(out, strings.Repeat(" ", 8+width+len("conditional"))+terminal.Line(part))
		}
	}
	for _, join := range d.Dropped {
		out = append(out, "  "+c.Warn("dropped ")+join.Join+": "+terminal.Line(join.Why))
	}
	return out
}

// explainCondition formats a condition and, indented by depth, its parts.
func explainCondition(r *eval.Reason) (whole string, parts []string) {
	if len(r.Parts) == 0 || !r.Evaluated {
		return r.String(), nil
	}
	for i := range r.Parts {
		part, inner := explainCondition(&r.Parts[i])
		for _, line := range append([]string{part}, inner...) {
			parts = append(parts, "  "+line)
		}
	}
	return r.Source + " → " + eval.ResultText(r.Result), parts
}

// FormatDivergence describes where a run differs from its record; head starts the first line.
func FormatDivergence(head string, d *view.Divergence) []string {
	if d.Step > 0 {
		head += fmt.Sprintf(" at step %d, %s", d.Step, d.Node)
	}
	out := []string{head}
	addNext := func(when string, nodes, why []string) {
		out = append(out, "  "+when+cmp.Or(strings.Join(nodes, ", "), "no node"))
		for _, line := range why {
			out = append(out, "    "+terminal.Line(line))
		}
	}
	addNext("recorded: ", d.Recorded, d.RecordedWhy)
	addNext("now:      ", d.Now, d.Why)
	if len(d.NeverRan) > 0 {
		out = append(out, fmt.Sprintf("  the comparison ends here: %s never ran, so its result is unknown", strings.Join(d.NeverRan, ", ")))
	}
	return out
}
