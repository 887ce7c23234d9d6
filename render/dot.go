// Drawings in the DOT language of Graphviz.

package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// DOTOptions choose the layout. The zero value is top to bottom.
type DOTOptions struct {
	// RankDir is "TB" (top to bottom, the default) or "LR" (left to right).
	RankDir string
}

// look is the shape and colours of a box.
type look struct{ shape, style, fill, line string }

const (
	inkColor     = "#1F2937"
	quietColor   = "#6B7280"
	failureColor = "#DC2626"
	modelColor   = "#7C3AED"
	gotoColor    = "#0369A1"
	paleColor    = "#C4CAD3"
	waitingColor = "#D97706"
	runningColor = "#2563EB"
)

// looks returns the colours of a node kind. Red and orange are reserved for failed and
// waiting nodes.
func looks(kind string) look {
	const rounded = "rounded,filled"
	switch kind {
	case "set":
		return look{"box", rounded, "#E0F2FE", "#0284C7"}
	case "pass":
		return look{"box", rounded, "#F3F4F6", "#9CA3AF"}
	case "exec":
		return look{"box", rounded, "#E2E8F0", "#475569"}
	case "http":
		return look{"box", rounded, "#CCFBF1", "#0D9488"}
	case "llm", "agent":
		return look{"box", rounded, "#EDE9FE", "#7C3AED"}
	case "tool", "tools":
		return look{"box", rounded, "#ECFCCB", "#65A30D"}
	case "human":
		return look{"box", rounded, "#FCE7F3", "#DB2777"}
	case "graph":
		return look{"box", rounded, "#DCFCE7", "#16A34A"}
	case "wait":
		return look{"box", "rounded,filled,dashed", "#F9FAFB", "#6B7280"}
	case "fail":
		return look{"octagon", "filled", "#FEE2E2", "#DC2626"}
	}
	return look{"box", rounded, "#FFFFFF", "#374151"}
}

// marked returns the look of a painted box.
func (l look) marked(m Mark) look {
	switch m {
	case Untouched:
		l.fill, l.line = "#FFFFFF", paleColor
	case Unwell:
		l.line = failureColor
	case FailedHere:
		l.line, l.fill = failureColor, "#FECACA"
	case WaitingHere:
		l.line, l.fill = waitingColor, "#FFEDD5"
	case RunningHere:
		l.line, l.fill = runningColor, "#DBEAFE"
	case Missed:
		l.fill, l.line = "#FFFFFF", failureColor
	case Touched:
	}
	return l
}

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

// WriteDOT writes a drawing. It returns errors of w.
func WriteDOT(w io.Writer, d *Drawing, opts DOTOptions) error {
	out := bufio.NewWriter(w)
	rankdir := opts.RankDir
	if rankdir == "" {
		rankdir = "TB"
	}
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
	finally := false
	for i := range d.Boxes {
		if finally = finally || d.Boxes[i].Finally; !d.Boxes[i].Finally {
			w.box(&d.Boxes[i])
		}
	}
	if finally {
		inner := dotWriter{out: w.out, indent: w.indent + "  ", prefix: w.prefix, rankdir: w.rankdir}
		fmt.Fprintf(w.out, "%ssubgraph %s {\n%sgraph [label=\"finally\", labelloc=t, fontsize=11, style=\"rounded,dashed\", color=%q, "+
			"fontcolor=%q, tooltip=\"when the end of the run is decided\"]\n",
			w.indent, quote("cluster_finally"+w.prefix), inner.indent, quietColor, quietColor)
		for i := range d.Boxes {
			if d.Boxes[i].Finally {
				inner.box(&d.Boxes[i])
			}
		}
		fmt.Fprintln(w.out, w.indent+"}")
	}
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
		ink := inkColor
		switch b.Mark {
		case Untouched:
			ink = paleColor
		case Missed:
			ink = failureColor
		}
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
	style, color := "solid", inkColor
	switch a.Role {
	case StartArrow, ConditionArrow:
	case UnconditionalArrow:
		if a.Fallback {
			color = quietColor
		}
	case FinallyArrow:
		style, color = "dashed", quietColor
	case FailureArrow:
		color = failureColor
	case ModelArrow:
		color = modelColor
	case GotoArrow:
		style, color = "dotted", gotoColor
	}
	if a.Fallback {
		style = "dashed"
	}
	width := ""
	if a.Role == ModelArrow || a.Role == GotoArrow {
		width = ", penwidth=1.6"
	}
	switch a.Mark {
	case Untouched:
		color = paleColor
	case Missed:
		color = failureColor
	case Touched:
		width = ", penwidth=2.6"
	}
	fmt.Fprintf(out, "style=%s, color=%q", style, color)
	if a.Role == ModelArrow {
		fmt.Fprint(out, ", arrowhead=vee, arrowtail=odiamond, dir=both")
	}
	fmt.Fprint(out, width)
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
