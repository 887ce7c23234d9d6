// The part of a source line around a span, with the columns it takes on a
// terminal.

package report

import (
	"strings"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/spec"
)

const (
	tabStop    = 4
	maxColumns = 100  // of source text in one line
	context    = 30   // columns kept before a span when a line is cut
	reach      = 4096 // bytes of the line that are looked at, to either side of a span
)

// snippet is a printable piece of a line: the span begins after indent columns
// and takes width columns, at least 1.
type snippet struct {
	text          string
	indent, width int
}

// cell is one character as printed.
type cell struct {
	text    string
	columns int
}

// cut returns the line where the span begins, shortened around the span when
// it is long. It reports false when the line is empty.
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

// window chooses the cells to show: all when they fit, else some around the span.
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
