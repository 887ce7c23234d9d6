// Drawings in the DOT language of Graphviz.

package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/graphrun/graphrun/internal/lazyregexp"
)

// WriteDOT writes a drawing. rankdir is "TB" (down, the default) or "LR" (right). It returns errors of w.
func WriteDOT(w io.Writer, d *Drawing, rankdir string) error {
	out := bufio.NewWriter(w)
	rankdir = cmp.Or(rankdir, "TB")
	title := quote(escapeText(d.Title))
	fmt.Fprintf(out, "digraph %s {\n", title)
	fmt.Fprintf(out, "  graph [rankdir=%s, label=%s, labelloc=t, fontname=\"Helvetica,Arial,sans-serif\", fontsize=16, "+
		"fontcolor=%q, bgcolor=white, pad=0.3, nodesep=0.45, ranksep=0.55]\n", rankdir, title, inkColor)
	fmt.Fprintf(out, "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, fontcolor=%q, margin=\"0.2,0.1\", penwidth=1.2]\n", inkColor)
	fmt.Fprintf(out, "  edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=10, arrowsize=0.75, penwidth=1.1]\n\n")
	(&dotWriter{out: out, indent: "  ", rankdir: rankdir}).writeDrawing(d)
	for i, inner := range d.Inner {
		fmt.Fprintf(out, "\n  subgraph cluster_graph%d {\n    graph [label=%s, labelloc=t, fontsize=12, style=rounded, color=%q, fontcolor=%q]\n",
			i, quote(escapeText(inner.Title)), quietColor, quietColor)
		(&dotWriter{out: out, indent: "    ", prefix: inner.Title + "/", rankdir: rankdir}).writeDrawing(inner)
		fmt.Fprintln(out, "  }")
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// dotWriter draws one graph. The prefix makes ids unique.
type dotWriter struct {
	out            *bufio.Writer
	indent, prefix string
	rankdir        string
}

func (w *dotWriter) writeDrawing(d *Drawing) {
	d.drawBoxes(w)
	fmt.Fprintln(w.out)
	d.drawEdges(w)
}

func (w *dotWriter) drawFinally(drawNodes func()) {
	fmt.Fprintf(w.out, "%ssubgraph %s {\n%s  graph [label=\"finally\", labelloc=t, fontsize=11, style=\"rounded,dashed\", color=%q, "+
		"fontcolor=%q, tooltip=\"when the end of the run is decided\"]\n",
		w.indent, quote("cluster_finally"+w.prefix), w.indent, quietColor, quietColor)
	w.indent += "  "
	drawNodes()
	w.indent = w.indent[2:]
	fmt.Fprintln(w.out, w.indent+"}")
}

// quoteID returns the quoted, unique name of a box.
func (w *dotWriter) quoteID(box string) string { return quote(w.prefix + box) }

func (w *dotWriter) drawMark(id string, m Mark) {
	if id == startID {
		fmt.Fprintf(w.out, "%s%s [label=\"\", tooltip=\"start\", shape=circle, style=filled, width=0.2, height=0.2, "+
			"fixedsize=true, color=%q, fillcolor=%q]\n", w.indent, w.quoteID(id), inkColor, inkColor)
		return
	}
	fmt.Fprintf(w.out, "%s%s [label=\"END\", shape=box, style=\"rounded,filled\", fontsize=11, fontcolor=white, "+
		"margin=\"0.16,0.05\", height=0.3, color=%q, fillcolor=%q]\n", w.indent, w.quoteID(id), m.lineColor(), m.lineColor())
}

func (w *dotWriter) drawNode(n *Node) {
	s := chooseStyle(n.Kind, n.Mark)
	fmt.Fprintf(w.out, "%s%s [label=%s, shape=%s, style=%q, color=%q, fillcolor=%q", w.indent, w.quoteID(n.ID), formatLabel(n, s), s.shape, s.style, s.line, s.fill)
	if n.Mark == Untouched {
		fmt.Fprintf(w.out, ", fontcolor=%q", paleColor)
	}
	if width := markStyles[n.Mark].dotWidth; width != "" {
		fmt.Fprint(w.out, ", penwidth="+width)
	}
	if n.Kind == "graph" {
		fmt.Fprint(w.out, ", peripheries=2")
	}
	w.closeAttributes(n.Description)
}

// formatLabel returns the label of a box: id, kind, notes.
func formatLabel(n *Node, s boxStyle) string {
	lines := []string{"<b>" + escapeHTML(n.ID) + "</b>"}
	small := func(text, color string) {
		if text != "" { // Graphviz refuses an empty element
			lines = append(lines, fmt.Sprintf("<font point-size=\"9\" color=%q>%s</font>", color, escapeHTML(text)))
		}
	}
	small(n.Kind, s.line)
	small(strings.Join(n.Notes, " · "), quietColor)
	return "<" + strings.Join(lines, "<br/>") + ">"
}

func (w *dotWriter) drawEdge(e *Edge) {
	style, color := e.lineStyle()
	isPale := e.Mark == Untouched || e.Mark == Missed
	if e.Else && !isPale && (e.Condition == "on_success" || e.Condition == "always") {
		color = quietColor
	}
	fmt.Fprintf(w.out, "%s%s -> %s [style=%s, color=%q", w.indent, w.quoteID(e.From), w.quoteID(boxID(e.To)), style, color)
	if e.Condition == "llm_decide" {
		fmt.Fprint(w.out, ", arrowhead=vee, arrowtail=odiamond, dir=both")
	}
	switch {
	case e.Mark == Touched:
		fmt.Fprint(w.out, ", penwidth=2.6")
	case e.Condition == "llm_decide" || e.Condition == "goto":
		fmt.Fprint(w.out, ", penwidth=1.6")
	}
	if e.Text != "" {
		fmt.Fprintf(w.out, ", label=%s, fontcolor=%q", quote(escapeText(padLabel(e.Text, w.rankdir))), color)
	}
	w.closeAttributes(e.Tip)
}

// closeAttributes writes the tooltip, if any, and ends the attributes and the line.
func (w *dotWriter) closeAttributes(tip string) {
	if tip = strings.TrimSpace(tip); tip != "" {
		fmt.Fprintf(w.out, ", tooltip=%s", quote(escapeText(tip)))
	}
	fmt.Fprintln(w.out, "]")
}

// padLabel pads a label, because Graphviz puts labels right beside the arrow.
func padLabel(label, rankdir string) string {
	if rankdir == "LR" {
		return label + "\n "
	}
	return "  " + strings.ReplaceAll(label, "\n", "  \n  ") + "  "
}

// quote makes a DOT string. \" is its only escape; escapeText handles backslashes.
func quote(s string) string { return `"` + strings.ReplaceAll(makePrintable(s), `"`, `\"`) + `"` }

// escapeText makes text literal inside a label or tooltip, where \n is a line
// break, \G is the graph's name, and a backslash must be doubled.
func escapeText(s string) string {
	s = strings.NewReplacer(`\`, `\\`, "\r\n", `\n`, "\n", `\n`).Replace(s)
	return entity.Get().ReplaceAllString(s, "&amp;$1")
}

// entity matches texts that Graphviz reads as character entities.
var entity = lazyregexp.New(`&([#\pL\p{Nd}]+;)`)

// escapeHTML makes text literal inside an HTML-like label.
func escapeHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(makePrintable(s))
}

// makePrintable replaces control characters and invalid UTF-8, which Graphviz refuses.
func makePrintable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}
