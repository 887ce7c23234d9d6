// Making failing files smaller, and results as text.

package referencetest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Shrink removes parts from a file of RandomGraph as long as bad reports true for the rest. bad must
// report false for a file that does not parse. Shrink ends because each text is shorter than the last.
func Shrink(text string, bad func(text string) bool) string {
	for again := true; again; {
		again = false
		for _, smaller := range listSmallerTexts(text) {
			if len(smaller) < len(text) && bad(smaller) {
				text, again = smaller, true
				break
			}
		}
	}
	return text
}

var nodeLine = regexp.MustCompile(`^( +)(\w+): \{kind`)

// listSmallerTexts returns files with one part left out: a block of lines, a node with its edges, a line,
// an entry of a flow map.
func listSmallerTexts(text string) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var out []string
	add := func(left []string) { out = append(out, strings.Join(left, "\n")+"\n") }
	for size := len(lines) / 2; size > 1; size /= 2 {
		for i := 0; i+size <= len(lines); i += size {
			add(slices.Delete(slices.Clone(lines), i, i+size))
		}
	}
	for _, line := range lines {
		if m := nodeLine.FindStringSubmatch(line); m != nil {
			edge := regexp.MustCompile(`^` + m[1] + `  ?- \{.*\b` + m[2] + `\b`)
			add(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return l == line || edge.MatchString(l) }))
		}
	}
	for i := range lines {
		add(slices.Delete(slices.Clone(lines), i, i+1))
	}
	for i, line := range lines {
		from, to := strings.Index(line, "{"), strings.LastIndex(line, "}")
		if from < 0 || to < from {
			continue
		}
		parts := splitFlow(line[from+1 : to])
		for j := range parts {
			changed := slices.Clone(lines)
			changed[i] = line[:from+1] + strings.Join(slices.Delete(slices.Clone(parts), j, j+1), ", ") + line[to:]
			add(changed)
		}
	}
	return out
}

// splitFlow splits the entries of a flow map at its outermost commas.
func splitFlow(text string) []string {
	var out []string
	depth, from := 0, 0
	var quote rune
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.ContainsRune("{[(", c):
			depth++
		case strings.ContainsRune("}])", c):
			depth--
		case c == ',' && depth == 0:
			out, from = append(out, strings.TrimSpace(text[from:i])), i+1
		}
	}
	return append(out, strings.TrimSpace(text[from:]))
}

// String returns the result as text: how the run ended, and its steps in path order.
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s after %d steps in %v, error %v, output %v\nstate %v\n", r.Status, r.Quality, r.Reason, r.Steps, r.Took, r.Error.text(), r.Output, r.State)
	for _, l := range r.Log {
		fmt.Fprintf(&b, "%3d %-8v %-4s %s visit %d, input %v, output %v, error %v\n", l.Rank, l.Order, l.Node, l.Outcome, l.Visit, l.View.Env["input"], l.Output, l.Error.text())
	}
	return b.String()
}

func (e *Error) text() string {
	if e == nil {
		return "none"
	}
	return e.Kind + " " + e.Node
}
