// Findings for people: place, message, source line and a caret under the
// exact span.

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
	// maxShown is how many findings of a rule are shown with their source; of the
	// others there is one line each.
	maxShown = 20
	// maxRelated is how many of the places that a finding is also about are named.
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

// writeSource shows the line of a finding, what was perhaps meant, and the other
// places that it is about.
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

// place is where a span begins, as editors and terminals understand it.
func place(f *spec.File, s spec.Span) string {
	p := f.Position(s.From)
	return fmt.Sprintf("%s:%d:%d", terminal.Line(f.Name), p.Line, p.Column)
}

// hint is the sentence about a finding's suggestion; "" when there is none or
// the message already has it.
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

// withHint is the message and its hint in one line.
func withHint(d *spec.Diagnostic) string {
	if h := hint(d); h != "" {
		return d.Message + "; " + h
	}
	return d.Message
}

// Summary is one line about all findings: "3 files: 1 error, 2 warnings". When
// they are many, it says how many are of which rule.
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

// byRule says how many findings are of which rule, the most first.
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
