// Drawings in the language of Mermaid (flowchart).

package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteMermaid writes a drawing. rankdir is "TB" (down, the default) or "LR" (right). It returns errors of w.
func WriteMermaid(w io.Writer, d *Drawing, rankdir string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "---\ntitle: %s\n---\nflowchart %s\n", quoteYAML(d.Title), cmp.Or(rankdir, "TB"))
	m := &mermaidWriter{out: out, prefix: "n_", indent: "  ", names: map[string]string{}, taken: map[string]bool{}}
	d.drawBoxes(m)
	d.drawEdges(m)
	for i, inner := range d.Inner {
		fmt.Fprintf(out, "  subgraph graph%d[\"%s\"]\n", i, escapeMermaid(inner.Title))
		m.prefix, m.indent = fmt.Sprintf("g%d_", i), "    "
		inner.drawBoxes(m)
		inner.drawEdges(m)
		fmt.Fprintln(out, "  end")
	}
	m.writeStyles()
	return out.Flush()
}

// mermaidWriter draws one graph after the other.
type mermaidWriter struct {
	out *bufio.Writer
	// prefix makes ids unique and different from keywords such as end.
	prefix, indent string
	names          map[string]string // of boxes, by prefix and id
	taken          map[string]bool   // names
	// boxes holds the names of boxes by style, arrows the numbers of arrows by style.
	boxes, arrows styleGroups
	count         int // of arrows
}

// styleGroups groups names by style, in the order in which the styles are first used.
type styleGroups struct {
	styles []string
	names  [][]string
}

func (s *styleGroups) assignStyle(style, name string) {
	if !slices.Contains(s.styles, style) {
		s.styles, s.names = append(s.styles, style), append(s.names, nil)
	}
	i := slices.Index(s.styles, style)
	s.names[i] = append(s.names[i], name)
}

func (m *mermaidWriter) drawFinally(drawNodes func()) {
	fmt.Fprintf(m.out, "%ssubgraph %sfinally[\"finally\"]\n", m.indent, m.prefix)
	m.indent += "  "
	drawNodes()
	m.indent = m.indent[2:]
	fmt.Fprintln(m.out, m.indent+"end")
}

// makeID returns a unique Mermaid name for a box: characters that Mermaid refuses become "_".
func (m *mermaidWriter) makeID(box string) string {
	whole := m.prefix + "/" + box
	if name, ok := m.names[whole]; ok {
		return name
	}
	short := []byte(box)
	for i, c := range short {
		isHyphen := c == '-' && i > 0 && i+1 < len(box) && isWord(box[i+1])
		if !isWord(c) && !isHyphen {
			short[i] = '_'
		}
	}
	name := m.prefix + string(short)
	for n := 2; m.taken[name]; n++ {
		name = fmt.Sprintf("%s%s_%d", m.prefix, short, n)
	}
	m.names[whole], m.taken[name] = name, true
	return name
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func (m *mermaidWriter) drawMark(box string, mark Mark) {
	id, shape := m.makeID(box), "([\"END\"])"
	if box == startID {
		shape = "(( ))"
	}
	fmt.Fprintf(m.out, "%s%s%s\n", m.indent, id, shape)
	m.boxes.assignStyle(fmt.Sprintf("fill:%s,stroke:%s,color:#FFFFFF", mark.lineColor(), mark.lineColor()), id)
}

// mermaidShapes holds the brackets around the labels of node kinds, by default "()".
var mermaidShapes = map[string][2]string{"graph": {"[[", "]]"}, "fail": {"{{", "}}"}, "human": {"[/", "/]"}}

func (m *mermaidWriter) drawNode(n *Node) {
	lines := []string{"<b>" + escapeMermaid(n.ID) + "</b>"}
	for _, text := range []string{n.Kind, strings.Join(n.Notes, " · ")} {
		if text != "" {
			lines = append(lines, "<small>"+escapeMermaid(text)+"</small>")
		}
	}
	shape := cmp.Or(mermaidShapes[n.Kind], [2]string{"(", ")"})
	id, s, ink := m.makeID(n.ID), chooseStyle(n.Kind, n.Mark), inkColor
	fmt.Fprintf(m.out, "%s%s%s\"%s\"%s\n", m.indent, id, shape[0], strings.Join(lines, "<br/>"), shape[1])
	if n.Mark == Untouched {
		ink = quietColor
	}
	style := fmt.Sprintf("fill:%s,stroke:%s,color:%s,stroke-width:%s", s.fill, s.line, ink, markStyles[n.Mark].mermaidWidth)
	if strings.Contains(s.style, "dashed") || n.Mark == Missed {
		style += ",stroke-dasharray:4"
	}
	m.boxes.assignStyle(style, id)
}

func (m *mermaidWriter) drawEdge(e *Edge) {
	style, color := e.lineStyle()
	line, label := "-->", ""
	if style != "solid" {
		line = "-.->"
	}
	if strings.TrimSpace(e.Text) != "" {
		label = "|\"" + escapeMermaid(e.Text) + "\"|"
	}
	fmt.Fprintf(m.out, "%s%s %s%s %s\n", m.indent, m.makeID(e.From), line, label, m.makeID(boxID(e.To)))
	look := "stroke:" + color
	if e.Mark == Touched {
		look += ",stroke-width:3px"
	}
	m.arrows.assignStyle(look, fmt.Sprint(m.count))
	m.count++
}

// writeStyles writes the styles of boxes and arrows. Mermaid refers to arrows by number.
func (m *mermaidWriter) writeStyles() {
	for i, style := range m.boxes.styles {
		fmt.Fprintf(m.out, "  classDef look%d %s\n  class %s look%d\n", i, style, strings.Join(m.boxes.names[i], ","), i)
	}
	for i, style := range m.arrows.styles {
		fmt.Fprintf(m.out, "  linkStyle %s %s\n", strings.Join(m.arrows.names[i], ","), style)
	}
}

// escapeMermaid makes text literal in a quoted label. It replaces the syntax of Markdown and HTML by #NUMBER;.
func escapeMermaid(s string) string {
	var b strings.Builder
	begins := true // only digits precede: a list may begin here
	s = makePrintable(s)
	for i, r := range s {
		rest := s[i:]
		switch {
		case r == '\n':
			b.WriteString("<br/>")
			begins = true
			continue
		case strings.HasPrefix(rest, `\n`), strings.HasPrefix(rest, "$$"), strings.HasPrefix(rest, ":fa-"):
			// Mermaid would read a line break, formula or icon; a zero-width mark prevents that.
			fmt.Fprintf(&b, "#%d;\u2060", r)
		case r < 0x80 && (strings.ContainsRune("\"#&<>;`*_\\$~@:[]|", r) || begins && strings.ContainsRune("-+.)=", r)),
			strings.HasPrefix(rest, "www."):
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
		begins = begins && (r >= '0' && r <= '9' || r == ' ')
	}
	return b.String()
}

func quoteYAML(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(makePrintable(s)) + `"`
}
