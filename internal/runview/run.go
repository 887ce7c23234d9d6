// A run as text: its status or end, its decisions, and the commands that may follow.

package runview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

const (
	// MaxValue bounds the columns of a value.
	MaxValue     = 100
	maxKeyColumn = 32
	maxFailure   = 144 // most columns of the failure of a decision
)

// FormatHeadline describes the end of a run in one line.
func FormatHeadline(r *runner.Result) string {
	s := string(r.Status)
	if r.Quality != "" && string(r.Quality) != s {
		s += " (" + string(r.Quality) + ")"
	}
	s += fmt.Sprintf(" after %s in %s", eval.Count(r.Steps, "step"), formatDuration(time.Duration(r.Duration)))
	switch {
	case r.Error != nil:
		return joinNonEmpty(": ", s, r.Error.Node, formatFailure(r.Error))
	case r.Reason != "end":
		return joinNonEmpty(": ", s, r.Reason)
	}
	return s
}

// Summarize returns lines about the status, the failure, the questions and the state of a run.
func Summarize(r *runner.Result, c terminal.Colors) []string {
	paint := c.Bad
	switch {
	case r.Status == machine.Completed && r.Quality == machine.Clean && !r.Limited:
		paint = c.Good
	case r.Status == machine.Completed, r.Status == machine.Paused:
		paint = c.Warn
	}
	out := []string{paint(FormatHeadline(r))}
	if r.Error != nil {
		out = append(out, describeFailure(r.Error, c)...)
	}
	for i := range r.Running {
		out = append(out, "  "+describeRunning(&r.Running[i], r.Status, c))
	}
	for _, f := range r.Finally {
		if f.Outcome != "success" {
			out = append(out, "  "+formatFinallyNode(&f, c))
		}
	}
	for _, p := range r.Pending {
		out = append(out, FormatQuestion(&p, c))
	}
	if r.Status == machine.Paused && r.Reason == "wait" && r.Due != nil {
		out = append(out, "  waits until "+FormatTime(*r.Due)+"; graphrun resume --due continues it then")
	}
	if at := r.PausedAt; at != nil {
		out = append(out, fmt.Sprintf("  paused %s %s", at.Phase, strings.Join(at.Nodes, ", ")))
	}
	if r.Usage.LLMCalls > 0 {
		out = append(out, "  "+c.Quiet("models: "+formatUsage(r.Usage)))
	}
	return append(out, FormatState(r.State, c)...)
}

// FormatTime formats a time in the local zone, to the second.
func FormatTime(t time.Time) string { return t.Local().Format(time.DateTime) }

// describeRunning describes a running node, or one that ran when the run crashed.
func describeRunning(n *view.RunningNode, status machine.Status, c terminal.Colors) string {
	does := map[string]string{
		"running": "runs", "retrying": "waits for its next attempt", "waiting": "waits", "asking": "waits for an answer",
	}[n.Doing]
	text := fmt.Sprintf(" %s, since %s (%s)", does, FormatTime(n.Since), formatDuration(time.Since(n.Since)))
	if status == store.Crashed {
		text = fmt.Sprintf(" started at %s and did not finish", FormatTime(n.Since))
	}
	if n.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", n.Attempt)
	}
	return c.Strong(formatVisit(n.Node, n.Visit)) + text
}

// FormatQuestion formats an open question.
func FormatQuestion(p *view.Pending, c terminal.Colors) string {
	line := "  " + c.Strong(p.Target()) + " asks: " + terminal.Line(p.Prompt)
	if p.Kind != "tool" { // its prompt lists the answers
		line += c.Quiet(DescribeAnswers(p.Schema, p.Fields))
	}
	if p.Due != nil {
		line += c.Quiet("  until " + FormatTime(*p.Due))
	}
	return line
}

// DescribeAnswers describes the legal answers of a question, "" for any text.
func DescribeAnswers(schema any, order []string) string {
	document, _ := schema.(map[string]any)
	choices, fields := input.ChoiceNames(schema), input.Fields(document, order)
	var text string
	switch {
	case len(choices) > 0:
		text = strings.Join(choices, ", ")
	case len(document) == 0 || len(document) == 1 && document["type"] == "string":
		return ""
	case len(fields) == 0:
		return "  (" + terminal.Line(input.SchemaText(document)) + ")"
	default:
		names := make([]string, len(fields))
		for i, f := range fields {
			if names[i] = f.Name; !f.Required {
				names[i] += "?"
			}
		}
		text = "{" + strings.Join(names, ", ") + "}"
	}
	return "  (" + terminal.Truncate(terminal.Line(text), MaxValue) + ")"
}

// describeFailure returns the details of a failure, named as in expressions.
func describeFailure(f *machine.Failure, c terminal.Colors) []string {
	var out []string
	if f.Attempt > 1 {
		out = append(out, fmt.Sprintf("  error.attempt: %d", f.Attempt))
	}
	for _, key := range slices.Sorted(maps.Keys(f.Details)) {
		text, isText := f.Details[key].(string)
		if !isText {
			text = FormatValue(f.Details[key], MaxValue)
		}
		switch short := strings.TrimSpace(text); {
		case strings.Contains(short, "\n"):
			out = append(append(out, "  error.details."+key+":"), formatLastLines(strings.TrimRight(text, "\n"), c.Quiet("    | "))...)
		case short != "":
			out = append(out, fmt.Sprintf("  error.details.%s: %s", key, terminal.Truncate(terminal.Line(short), 2*MaxValue)))
		}
	}
	if len(f.Candidates) > 0 {
		out = append(out, "  no edge fired:")
	}
	for _, cand := range f.Candidates {
		out = append(out, fmt.Sprintf("    → %s  %s  %s", cand.To, cand.Condition, terminal.Line(cand.Why)))
	}
	if f.OutputPreview != "" {
		out = append(out, "  output: "+terminal.Truncate(terminal.Line(f.OutputPreview), MaxValue))
	}
	return out
}

func formatLastLines(text, prefix string) []string {
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-maxOutputLines):]
	for i := range lines {
		lines[i] = prefix + terminal.Line(lines[i])
	}
	return lines
}

// FormatState formats the state, one key per line.
func FormatState(state map[string]any, c terminal.Colors) []string {
	var out []string
	width := 0
	for key := range state {
		width = max(width, terminal.Width(key))
	}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		out = append(out, "  "+c.Quiet(terminal.Pad(key, min(width, maxKeyColumn)))+"  "+FormatValue(state[key], MaxValue))
	}
	return out
}

// FormatFinally formats the results of the finally nodes.
func FormatFinally(r *runner.Result, c terminal.Colors) []string {
	if len(r.Finally) == 0 {
		return nil
	}
	out := []string{c.Quiet("the run ended as " + string(r.Status) + "; then ran:")}
	for i := range r.Finally {
		out = append(out, formatFinallyNode(&r.Finally[i], c))
	}
	return out
}

func formatFinallyNode(f *view.FinallyResult, c terminal.Colors) string {
	line := "finally " + c.Strong(f.Node) + "  "
	switch f.Outcome {
	case "success":
		return line + c.Good("ok")
	case "skipped":
		return line + c.Warn("skipped: the run was cancelled, and there was no time left")
	}
	line += c.Bad("failed")
	if f.Error != nil {
		line += "  " + c.Bad(terminal.Truncate(formatFailure(f.Error), 2*maxReason))
	}
	return line
}

// SuggestNext returns commands that may follow a run, the likeliest first, or "" while it runs.
func SuggestNext(r *runner.Result, flags string) string {
	logs, why, resume := "logs "+r.RunID, "why "+r.RunID, "resume "+r.RunID
	commands := []string{logs, why}
	switch r.Status {
	case machine.Running:
		return ""
	case machine.Paused, store.Crashed:
		return "next: " + FormatResume(r, flags)
	case machine.Failed:
		if r.Error != nil && r.Error.Node != "" {
			logs += " " + QuoteForShell(r.Error.Node)
		}
		commands = []string{logs, why, resume}
	case machine.Stuck:
		commands = []string{fmt.Sprintf("%s %d", why, max(len(r.Path), 1)), resume}
	case machine.Limit:
		switch r.Reason {
		case "max_steps":
			resume += fmt.Sprintf(" --max-steps %d", 2*r.MaxSteps)
		case "timeout":
			resume += " --timeout …"
		case "size":
			resume += fmt.Sprintf(" --max-state-bytes %d", 2*r.MaxStateBytes)
		}
		commands = []string{why, resume}
	case machine.Cancelled:
		commands = []string{resume, logs}
	}
	for i := range commands {
		commands[i] = "graphrun " + commands[i] + flags
	}
	return "next: " + strings.Join(commands, " · ")
}

// FormatResume returns the command that continues a run, with its open questions to answer.
func FormatResume(r *runner.Result, flags string) string {
	if r.Status != machine.Paused || len(r.Pending) == 0 {
		return "graphrun resume " + r.RunID + flags
	}
	s := "graphrun answer " + r.RunID
	for _, p := range r.Pending {
		answer := append(input.ChoiceNames(p.Schema), "…")[0]
		s += " " + QuoteForShell(p.Target()+"="+answer)
	}
	return s + " --resume" + flags
}

// QuoteForShell quotes a word for a shell if needed.
func QuoteForShell(s string) string {
	special := func(r rune) bool { return store.CheckID("", string(r)) != nil && !strings.ContainsRune("=/,@%+…", r) }
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	if strings.ContainsFunc(s, unicode.IsControl) { // bash, zsh and ksh read this form
		quoted := strconv.Quote(strings.ReplaceAll(s, "'", `\x27`))
		return "$'" + strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\\x27`, `\x27`), `\"`, `"`) + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

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
	for _, e := range d.Candidates {
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
