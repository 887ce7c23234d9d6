// Findings as text: position, message, source line and a caret under the span.

package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fatih/color"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/spec"
)

// palette holds the colours of the text format.
type palette struct {
	place, errorWord, warningWord, infoWord, rule, gutter, caret, help func(a ...any) string
}

func newPalette(on bool) palette {
	paint := func(attrs ...color.Attribute) func(a ...any) string {
		c := color.New(attrs...)
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c.SprintFunc()
	}
	return palette{
		place:       paint(color.Bold),
		errorWord:   paint(color.FgRed, color.Bold),
		warningWord: paint(color.FgYellow, color.Bold),
		infoWord:    paint(color.FgCyan),
		rule:        paint(color.FgHiBlack),
		gutter:      paint(color.FgHiBlack),
		caret:       paint(color.FgGreen, color.Bold),
		help:        paint(color.FgCyan),
	}
}

func writeText(w io.Writer, f Findings, opts Options) error {
	out := bufio.NewWriter(w)
	paint := newPalette(opts.Color)
	told := map[string]int{}
	for i := range f.Diagnostics {
		d := &f.Diagnostics[i]
		told[d.Rule]++
		if told[d.Rule] > maxShown {
			writeHeadline(out, d, withHint(d), paint)
			continue
		}
		writeHeadline(out, d, d.Message, paint)
		writeSource(out, d, paint)
	}
	return out.Flush()
}

const (
	// maxShown bounds the findings of a rule that are shown with their source line.
	maxShown = 20
	// maxRelated bounds the related places that are shown.
	maxRelated = 5
)

func writeHeadline(out *bufio.Writer, d *spec.Diagnostic, message string, paint palette) {
	severity := paint.errorWord
	switch d.Severity {
	case spec.Warning:
		severity = paint.warningWord
	case spec.Info:
		severity = paint.infoWord
	}
	fmt.Fprintf(out, "%s %s %s %s\n", paint.place(place(d.File, d.Span)+":"),
		severity(d.Severity.String()+":"), terminal.Line(message), paint.rule("["+d.Rule+"]"))
}

// writeSource prints the source line of a finding, its suggestion and related places.
func writeSource(out *bufio.Writer, d *spec.Diagnostic, paint palette) {
	number := fmt.Sprintf("%5d", d.File.Position(d.Span.From).Line)
	blank := strings.Repeat(" ", len(number))
	if s, ok := cut(d.File, d.Span); ok {
		fmt.Fprintf(out, "%s%s\n", paint.gutter(number+" | "), s.text)
		fmt.Fprintf(out, "%s%s%s\n", paint.gutter(blank+" | "), strings.Repeat(" ", s.indent),
			paint.caret(strings.Repeat("^", s.width)))
	}
	if hint := hint(d); hint != "" {
		fmt.Fprintf(out, "%s%s\n", paint.gutter(blank+" = "), paint.help("help: "+hint))
	}
	for i, r := range d.Related {
		if i == maxRelated {
			fmt.Fprintf(out, "%sand %s\n", paint.gutter(blank+" = "), terminal.Count(len(d.Related)-i, "more place"))
			break
		}
		fmt.Fprintf(out, "%s%s: %s\n", paint.gutter(blank+" = "), place(r.File, r.Span), terminal.Line(r.Message))
	}
}

// place returns the start of a span as file:line:column.
func place(f *spec.File, s spec.Span) string {
	p := f.Position(s.From)
	return fmt.Sprintf("%s:%d:%d", terminal.Line(f.Name), p.Line, p.Column)
}

// hint returns the suggestion of a finding as a sentence, or "" if the message contains it.
func hint(d *spec.Diagnostic) string {
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

// withHint returns the message with its hint in one line.
func withHint(d *spec.Diagnostic) string {
	if h := hint(d); h != "" {
		return d.Message + "; " + h
	}
	return d.Message
}

// Summary counts all findings in one line: "3 files: 1 error, 2 warnings". If there are many,
// it also counts them by rule.
func Summary(f Findings) string {
	errors, warnings := count(f.Diagnostics)
	files := terminal.Count(f.Files, "file")
	if errors+warnings == 0 {
		return files + ": no problems found"
	}
	summary := fmt.Sprintf("%s: %s, %s", files, terminal.Count(errors, "error"), terminal.Count(warnings, "warning"))
	if errors+warnings > maxShown {
		summary += " (" + byRule(f.Diagnostics) + ")"
	}
	return summary
}

// byRule counts findings by rule, the most frequent first.
func byRule(found spec.Diagnostics) string {
	of := map[string]int{}
	var rules []string
	for i := range found {
		if found[i].Severity == spec.Info {
			continue
		}
		if of[found[i].Rule] == 0 {
			rules = append(rules, found[i].Rule)
		}
		of[found[i].Rule]++
	}
	slices.SortStableFunc(rules, func(a, b string) int { return of[b] - of[a] })
	for i, rule := range rules {
		rules[i] = fmt.Sprintf("%s %d", rule, of[rule])
	}
	return strings.Join(rules, ", ")
}

const (
	tabStop    = 4
	maxColumns = 100  // most columns of source text
	context    = 30   // columns kept before the span of a shortened line
	reach      = 4096 // bytes of a line considered on either side of a span
)

// snippet is a printable part of a line. The span starts after indent columns and takes width
// columns, at least 1.
type snippet struct {
	text          string
	indent, width int
}

// cell is one printed character.
type cell struct {
	text    string
	columns int
}

// cut returns the first line of a span, shortened if it is long. It returns false for an empty
// line.
func cut(f *spec.File, s spec.Span) (snippet, bool) {
	line, from, before, after := f.Around(s.From, reach)
	if strings.TrimSpace(line) == "" {
		return snippet{}, false
	}
	to := min(from+max(s.To-s.From, 0), len(line))
	cells, first, last := layout(line, from, to)
	lo, hi := window(cells, first, last)
	var b strings.Builder
	var out snippet
	if lo > 0 || before {
		b.WriteString("…")
		out.indent = 1
	}
	for i := lo; i < hi; i++ {
		b.WriteString(cells[i].text)
		switch {
		case i < first:
			out.indent += cells[i].columns
		case i < last:
			out.width += cells[i].columns
		}
	}
	if hi < len(cells) || after {
		b.WriteString("…")
	}
	out.width = max(out.width, 1)
	out.text = strings.TrimRight(b.String(), " ")
	return out, true
}

// layout splits a line into cells; those of the span are first up to last.
func layout(line string, from, to int) (cells []cell, first, last int) {
	first, last = -1, -1
	column := 0
	for at, r := range line {
		if at >= from && first < 0 {
			first = len(cells)
		}
		if at >= to && last < 0 {
			last = len(cells)
		}
		c := cell{text: string(r), columns: terminal.RuneWidth(r)}
		switch {
		case r == '\t':
			n := tabStop - column%tabStop
			c = cell{text: strings.Repeat(" ", n), columns: n}
		case !terminal.Printable(r):
			c = cell{text: terminal.Replacement, columns: 1}
		}
		column += c.columns
		cells = append(cells, c)
	}
	if first < 0 {
		first = len(cells)
	}
	if last < 0 {
		last = len(cells)
	}
	return cells, first, last
}

// window chooses the cells to show: all if they fit, or some around the span.
func window(cells []cell, first, last int) (lo, hi int) {
	total := 0
	for _, c := range cells {
		total += c.columns
	}
	if total <= maxColumns {
		return 0, len(cells)
	}
	lo, before := first, 0
	// A span at the end of a long line gets its context from the left.
	room := maxColumns - columns(cells[first:last])
	keep := max(context, room-columns(cells[last:]))
	for lo > 0 && before+cells[lo-1].columns <= min(keep, maxColumns-context) {
		lo--
		before += cells[lo].columns
	}
	used := 0
	for hi = lo; hi < len(cells) && used+cells[hi].columns <= maxColumns; hi++ {
		used += cells[hi].columns
	}
	return lo, hi
}

func columns(cells []cell) int {
	n := 0
	for _, c := range cells {
		n += c.columns
	}
	return n
}
