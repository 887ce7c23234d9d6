// Drawings in the DOT language of Graphviz.

package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// widths returns attributes for thick lines where a run passed and pale text elsewhere.
func widths(m Mark) string {
	switch m {
	case Untouched:
		return fmt.Sprintf(", fontcolor=%q", paleColor)
	case Touched, Unwell:
		return ", penwidth=2.4"
	case FailedHere, WaitingHere, RunningHere:
		return ", penwidth=3.6"
	case Missed:
		return ", penwidth=1.6"
	}
	return ""
}

// WriteDOT writes a drawing. rankdir is "TB" (top to bottom, the default) or "LR" (left to
// right). It returns errors of w.
func WriteDOT(w io.Writer, d *Drawing, rankdir string) error {
	out := bufio.NewWriter(w)
	rankdir = cmp.Or(rankdir, "TB")
	title := quote(escapeText(d.Title))
	fmt.Fprintf(out, "digraph %s {\n", title)
	fmt.Fprintf(out, "  graph [rankdir=%s, label=%s, labelloc=t, fontname=\"Helvetica,Arial,sans-serif\", fontsize=16, "+
		"fontcolor=%q, bgcolor=white, pad=0.3, nodesep=0.45, ranksep=0.55]\n", rankdir, title, inkColor)
	fmt.Fprintf(out, "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, fontcolor=%q, margin=\"0.2,0.1\", penwidth=1.2]\n", inkColor)
	fmt.Fprintf(out, "  edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=10, arrowsize=0.75, penwidth=1.1]\n\n")
	(&dotWriter{out: out, indent: "  ", rankdir: rankdir}).drawing(d)
	for i, inner := range d.Inner {
		fmt.Fprintf(out, "\n  subgraph cluster_graph%d {\n    graph [label=%s, labelloc=t, fontsize=12, style=rounded, color=%q, fontcolor=%q]\n",
			i, quote(escapeText(inner.Title)), quietColor, quietColor)
		(&dotWriter{out: out, indent: "    ", prefix: inner.Title + "/", rankdir: rankdir}).drawing(inner)
		fmt.Fprintln(out, "  }")
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// dotWriter writes the boxes and arrows of one graph. The prefix makes ids unique.
type dotWriter struct {
	out            *bufio.Writer
	indent, prefix string
	rankdir        string
}

func (w *dotWriter) drawing(d *Drawing) {
	indent := w.indent
	d.eachBox(w.box, func() {
		w.indent += "  "
		fmt.Fprintf(w.out, "%ssubgraph %s {\n%sgraph [label=\"finally\", labelloc=t, fontsize=11, style=\"rounded,dashed\", color=%q, "+
			"fontcolor=%q, tooltip=\"when the end of the run is decided\"]\n",
			indent, quote("cluster_finally"+w.prefix), w.indent, quietColor, quietColor)
	}, func() {
		w.indent = indent
		fmt.Fprintln(w.out, w.indent+"}")
	})
	fmt.Fprintln(w.out)
	for i := range d.Arrows {
		w.arrow(&d.Arrows[i])
	}
}

// id returns the quoted, unique name of a box.
func (w *dotWriter) id(box string) string { return quote(w.prefix + box) }

func (w *dotWriter) box(b *Box) {
	out := w.out
	fmt.Fprint(out, w.indent)
	switch b.Role {
	case StartBox:
		fmt.Fprintf(out, "%s [label=\"\", tooltip=\"start\", shape=circle, style=filled, width=0.2, height=0.2, "+
			"fixedsize=true, color=%q, fillcolor=%q]\n", w.id(b.ID), inkColor, inkColor)
	case EndBox:
		ink := b.Mark.ink()
		fmt.Fprintf(out, "%s [label=\"END\", shape=box, style=\"rounded,filled\", fontsize=11, fontcolor=white, "+
			"margin=\"0.16,0.05\", height=0.3, color=%q, fillcolor=%q]\n", w.id(b.ID), ink, ink)
	case NodeBox:
		l := looks(b.Kind).marked(b.Mark)
		fmt.Fprintf(out, "%s [label=%s, shape=%s, style=%q, color=%q, fillcolor=%q", w.id(b.ID), boxLabel(b, l), l.shape, l.style, l.line, l.fill)
		fmt.Fprint(out, widths(b.Mark))
		if b.Kind == "graph" {
			fmt.Fprint(out, ", peripheries=2")
		}
		writeTip(out, b.Tip)
		fmt.Fprint(out, "]\n")
	}
}

// boxLabel returns the label of a box: id, kind, notes.
func boxLabel(b *Box, l look) string {
	lines := []string{"<b>" + escapeHTML(b.ID) + "</b>"}
	small := func(text, color string) {
		if text != "" { // Graphviz refuses an empty element
			lines = append(lines, fmt.Sprintf("<font point-size=\"9\" color=%q>%s</font>", color, escapeHTML(text)))
		}
	}
	small(b.Kind, l.line)
	small(strings.Join(b.Notes, " · "), quietColor)
	return "<" + strings.Join(lines, "<br/>") + ">"
}

func (w *dotWriter) arrow(a *Arrow) {
	out := w.out
	fmt.Fprintf(out, "%s%s -> %s [", w.indent, w.id(a.From), w.id(a.To))
	style, color := a.stroke()
	if a.Role == UnconditionalArrow && a.Fallback && a.Mark != Untouched && a.Mark != Missed {
		color = quietColor
	}
	fmt.Fprintf(out, "style=%s, color=%q", style, color)
	if a.Role == ModelArrow {
		fmt.Fprint(out, ", arrowhead=vee, arrowtail=odiamond, dir=both")
	}
	switch {
	case a.Mark == Touched:
		fmt.Fprint(out, ", penwidth=2.6")
	case a.Role == ModelArrow || a.Role == GotoArrow:
		fmt.Fprint(out, ", penwidth=1.6")
	}
	if a.Label != "" {
		fmt.Fprintf(out, ", label=%s, fontcolor=%q", quote(escapeText(padLabel(a.Label, w.rankdir))), color)
	}
	writeTip(out, a.Tip)
	fmt.Fprint(out, "]\n")
}

// padLabel pads a label, which Graphviz would put right beside the arrow.
func padLabel(label, rankdir string) string {
	if rankdir == "LR" {
		return label + "\n "
	}
	return "  " + strings.ReplaceAll(label, "\n", "  \n  ") + "  "
}

func writeTip(out *bufio.Writer, tip string) {
	if tip = strings.TrimSpace(tip); tip != "" {
		fmt.Fprintf(out, ", tooltip=%s", quote(escapeText(tip)))
	}
}

// quote makes a DOT string. \" is its only escape; escapeText handles backslashes.
func quote(s string) string {
	return `"` + strings.ReplaceAll(printable(s), `"`, `\"`) + `"`
}

// escapeText makes text literal inside a label or tooltip: there \n is a line
// break, \G the graph's name, and a backslash is written twice.
func escapeText(s string) string {
	s = strings.NewReplacer(`\`, `\\`, "\r\n", `\n`, "\n", `\n`).Replace(s)
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '&' && isEntity(s[i+1:]) {
			b.WriteString("amp;")
		}
	}
	return b.String()
}

// isEntity reports whether Graphviz would read "&" and s as a character entity.
func isEntity(s string) bool {
	name, _, ok := strings.Cut(s, ";")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '#' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// escapeHTML makes text literal inside an HTML-like label.
func escapeHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(printable(s))
}

// printable replaces control characters and invalid UTF-8, which Graphviz refuses.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}
