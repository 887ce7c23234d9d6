// How a run went, said at its end.

package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

const (
	maxSummaryValue = 100 // columns of a state value
	maxKeyColumn    = 32
)

// headline is a run's end in one line.
func headline(r *runner.Result) string {
	s := string(r.Status)
	if r.Quality != "" && string(r.Quality) != s {
		s += " (" + string(r.Quality) + ")"
	}
	s += fmt.Sprintf(" after %s in %s", terminal.Count(r.Steps, "step"), runview.Clock(time.Duration(r.Duration)))
	switch {
	case r.Error == nil && r.Reason != "" && r.Reason != "end":
		s += ": " + r.Reason
	case r.Error != nil:
		s += ": "
		if r.Error.Node != "" {
			s += r.Error.Node + ": "
		}
		s += runview.FailureText(r.Error)
	}
	return s
}

// summary is a run's end for a person: status, what went wrong, state.
func summary(r *runner.Result, c runview.Colors) []string {
	paint := c.Bad
	switch {
	case r.Status == machine.Completed && r.Quality == machine.Clean && !r.Limited:
		paint = c.Good
	case r.Status == machine.Completed, r.Status == machine.Paused:
		paint = c.Warn
	}
	out := []string{paint(headline(r))}
	if r.Error != nil {
		out = append(out, failureLines(r.Error, c)...)
	}
	for i := range r.Running {
		out = append(out, "  "+runningText(&r.Running[i], r.Status, c))
	}
	for _, f := range r.Finally {
		if f.Outcome != "success" {
			out = append(out, "  "+runview.FinallyLine(&f, c))
		}
	}
	for _, p := range r.Pending {
		out = append(out, questionLine(&p, c))
	}
	if r.Status == machine.Paused && r.Reason == "wait" && r.Due != nil {
		out = append(out, "  waits until "+r.Due.Local().Format(time.DateTime)+"; graphrun resume --due takes it up then")
	}
	if at := r.PausedAt; at != nil {
		out = append(out, fmt.Sprintf("  paused %s %s", at.Phase, strings.Join(at.Nodes, ", ")))
	}
	if r.Usage.LLMCalls > 0 {
		out = append(out, "  "+c.Quiet("models: "+runview.UsageText(&r.Usage)))
	}
	return append(out, stateLines(r.State, c)...)
}

// runningText says what a run is at, or was when it crashed.
func runningText(n *view.RunningNode, status machine.Status, c runview.Colors) string {
	name := n.Node
	if n.Visit > 1 {
		name = fmt.Sprintf("%s #%d", name, n.Visit)
	}
	does := map[string]string{
		"running": "runs", "retrying": "waits for its next attempt", "waiting": "waits", "asking": "waits for an answer",
	}[n.Doing]
	began := n.Since.Local().Format(time.DateTime)
	text := fmt.Sprintf(" %s, since %s (%s)", does, began, runview.Clock(max(0, time.Since(n.Since))))
	if status == store.Crashed {
		text = fmt.Sprintf(" had begun at %s and was not done", began)
	}
	if n.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", n.Attempt)
	}
	return c.Strong(name) + text
}

// questionLine is an open question.
func questionLine(p *view.Pending, c runview.Colors) string {
	line := "  " + c.Strong(p.Target()) + " asks: " + terminal.Line(p.Prompt)
	if p.Kind != "tool" { // whose prompt says it
		line += c.Quiet(legalAnswers(p.Schema, p.Fields))
	}
	if p.Due != nil {
		line += c.Quiet("  until " + p.Due.Local().Format(time.DateTime))
	}
	return line
}

// legalAnswers says which answers a question takes; "" for any text.
func legalAnswers(schema any, order []string) string {
	if choices := choicesOf(schema); len(choices) > 0 {
		return "  (" + terminal.Truncate(terminal.Line(strings.Join(choices, ", ")), maxSummaryValue) + ")"
	}
	document, _ := schema.(map[string]any)
	if len(document) == 0 || len(document) == 1 && document["type"] == "string" {
		return ""
	}
	if fields := fieldsOf(document, order); len(fields) > 0 {
		return "  (" + terminal.Truncate(terminal.Line(fieldsText(fields)), maxSummaryValue) + ")"
	}
	return "  (" + terminal.Line(schemaText(document)) + ")"
}

// fieldsText names the fields of an object that is asked for, with a ? behind those
// that may be left out.
func fieldsText(fields []askedValue) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		if names[i] = f.name; !f.required {
			names[i] += "?"
		}
	}
	return "{" + strings.Join(names, ", ") + "}"
}

// failureLines tell the details of a failure, by the names that expressions
// read them by.
func failureLines(f *machine.Failure, c runview.Colors) []string {
	var out []string
	if f.Attempt > 1 {
		out = append(out, fmt.Sprintf("  error.attempt: %d", f.Attempt))
	}
	for _, key := range sortedKeys(f.Details) {
		text, ok := f.Details[key].(string)
		if !ok || !strings.Contains(strings.TrimSpace(text), "\n") {
			if text = strings.TrimSpace(text); !ok {
				text = runview.ValueText(f.Details[key], maxSummaryValue)
			}
			if text != "" {
				out = append(out, fmt.Sprintf("  error.details.%s: %s", key, terminal.Truncate(terminal.Line(text), 2*maxSummaryValue)))
			}
			continue
		}
		out = append(out, "  error.details."+key+":")
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		for _, line := range lines[max(0, len(lines)-runview.MaxOutputLines):] {
			out = append(out, c.Quiet("    | ")+terminal.Line(line))
		}
	}
	if len(f.Candidates) > 0 {
		out = append(out, "  no edge fired:")
	}
	for _, cand := range f.Candidates {
		out = append(out, fmt.Sprintf("    → %s  %s  %s", cand.To, cand.Condition, terminal.Line(cand.Why)))
	}
	if f.OutputPreview != "" {
		out = append(out, "  output: "+terminal.Truncate(terminal.Line(f.OutputPreview), maxSummaryValue))
	}
	return out
}

// stateLines show the state, a key per line.
func stateLines(state map[string]any, c runview.Colors) []string {
	var out []string
	width := 0
	for key := range state {
		width = max(width, terminal.Width(key))
	}
	for _, key := range sortedKeys(state) {
		out = append(out, "  "+c.Quiet(terminal.Pad(key, min(width, maxKeyColumn)))+"  "+runview.ValueText(state[key], maxSummaryValue))
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
