// Findings as text: position, message, source line and a caret under the span.

package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/spec"
)

func writeText(w io.Writer, f Findings, opts Options) error {
	out := bufio.NewWriter(w)
	c := terminal.NewColors(opts.Color)
	shown := map[string]int{}
	for _, d := range f.Diagnostics {
		if shown[d.Rule]++; shown[d.Rule] > maxShown {
			writeHeadline(out, &d, formatMessage(&d), c)
			continue
		}
		writeHeadline(out, &d, d.Message, c)
		writeSource(out, &d, c)
	}
	return out.Flush()
}

const (
	// maxShown bounds the findings of a rule that are shown with their source line.
	maxShown = 20
	// maxRelated bounds the related places that are shown.
	maxRelated = 5
)

func writeHeadline(out *bufio.Writer, d *spec.Diagnostic, message string, c terminal.Colors) {
	severity := d.Severity.String() + ":"
	switch d.Severity {
	case spec.Error:
		severity = c.StrongBad(severity)
	case spec.Warning:
		severity = c.StrongWarn(severity)
	case spec.Info:
		severity = c.Info(severity)
	}
	fmt.Fprintf(out, "%s %s %s %s\n", c.Strong(formatPosition(d.File, d.Span)+":"), severity, terminal.Line(message), c.Quiet("["+d.Rule+"]"))
}

// writeSource prints the source line of a finding, its suggestion and related places.
func writeSource(out *bufio.Writer, d *spec.Diagnostic, c terminal.Colors) {
	number := fmt.Sprintf("%5d", d.File.Position(d.Span.From).Line)
	blank := strings.Repeat(" ", len(number))
	if text, indent, width := cutSource(d.File, d.Span); width > 0 {
		fmt.Fprintf(out, "%s%s\n", c.Quiet(number+" | "), text)
		fmt.Fprintf(out, "%s%s%s\n", c.Quiet(blank+" | "), strings.Repeat(" ", indent), c.StrongGood(strings.Repeat("^", width)))
	}
	if hint := suggestFix(d); hint != "" {
		fmt.Fprintf(out, "%s%s\n", c.Quiet(blank+" = "), c.Info("help: "+hint))
	}
	for i, r := range d.Related {
		if i == maxRelated {
			fmt.Fprintf(out, "%sand %s\n", c.Quiet(blank+" = "), eval.Count(len(d.Related)-i, "more place"))
			break
		}
		fmt.Fprintf(out, "%s%s: %s\n", c.Quiet(blank+" = "), formatPosition(r.File, r.Span), terminal.Line(r.Message))
	}
}

func formatPosition(f *spec.File, s spec.Span) string {
	p := f.Position(s.From)
	return fmt.Sprintf("%s:%d:%d", terminal.Line(f.Name), p.Line, p.Column)
}

// suggestFix returns the suggestion of a finding as a sentence, or "" if the message contains it.
func suggestFix(d *spec.Diagnostic) string {
	if strings.TrimSpace(d.Suggestion) == "" || strings.Contains(d.Message, "did you mean") {
		return ""
	}
	for _, said := range []string{"; write ", ", so write ", ": write ", "; a text is written ", "put the text in quotes: "} {
		if strings.Contains(d.Message, said+d.Suggestion) {
			return ""
		}
	}
	return fmt.Sprintf("did you mean %q?", d.Suggestion)
}

// formatMessage returns the message with its hint in one line.
func formatMessage(d *spec.Diagnostic) string {
	if h := suggestFix(d); h != "" {
		return d.Message + "; " + h
	}
	return d.Message
}

// Summarize counts all findings in one line: "3 files: 1 error, 2 warnings". If there are many,
// it also counts them by rule.
func Summarize(f Findings) string {
	errors, warnings := CountSeverities(f.Diagnostics)
	files := eval.Count(f.Files, "file")
	if errors+warnings == 0 {
		return files + ": no problems found"
	}
	summary := fmt.Sprintf("%s: %s, %s", files, eval.Count(errors, "error"), eval.Count(warnings, "warning"))
	if errors+warnings > maxShown {
		summary += " (" + countByRule(f.Diagnostics) + ")"
	}
	return summary
}

// countByRule counts findings by rule, the most frequent first.
func countByRule(found spec.Diagnostics) string {
	count := map[string]int{}
	var rules []string
	for i := range found {
		if rule := found[i].Rule; found[i].Severity != spec.Info {
			if count[rule]++; count[rule] == 1 {
				rules = append(rules, rule)
			}
		}
	}
	slices.SortStableFunc(rules, func(a, b string) int { return count[b] - count[a] })
	for i, rule := range rules {
		rules[i] = fmt.Sprintf("%s %d", rule, count[rule])
	}
	return strings.Join(rules, ", ")
}

const (
	tabStop    = 4
	maxColumns = 100  // most columns of source text
	context    = 30   // columns kept before the span of a shortened line
	reach      = 4096 // bytes of a line considered on either side of a span
)

// cutSource returns the first line of a span as printable text, the columns before the span, and
// the columns of the span, at least 1. It shortens a long line.
func cutSource(f *spec.File, s spec.Span) (text string, indent, width int) {
	line, from, _, _ := f.Around(s.From, reach)
	if strings.TrimSpace(line) == "" {
		return "", 0, 0
	}
	to := min(from+max(s.To-s.From, 0), len(line))
	head := makePrintable(line[:from], 0)
	span := makePrintable(line[from:to], terminal.Width(head))
	rest := span + makePrintable(line[to:], terminal.Width(head+span))
	most := maxColumns
	if terminal.Width(head+rest) > most {
		// A span at the end of a long line gets its context from the left.
		keep := min(max(context, most-terminal.Width(rest)), most-context)
		if terminal.Width(head) > keep {
			head = terminal.TruncateStart(head, keep+1)
			most++
		}
	}
	indent = terminal.Width(head)
	width = max(1, min(terminal.Width(span), most-indent))
	return strings.TrimRight(terminal.Truncate(head+rest, most+1), " "), indent, width
}

// makePrintable expands tabs and replaces unprintable characters of a text that starts at a column.
func makePrintable(s string, column int) string {
	var b strings.Builder
	for _, r := range s {
		text := string(r)
		switch {
		case r == '\t':
			text = strings.Repeat(" ", tabStop-column%tabStop)
		case !terminal.IsPrintable(r):
			text = terminal.Replacement
		}
		b.WriteString(text)
		column += terminal.Width(text)
	}
	return b.String()
}
