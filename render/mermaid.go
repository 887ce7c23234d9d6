// Drawings in the language of Mermaid (flowchart).

package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// MermaidOptions choose the layout. The zero value is top to bottom.
type MermaidOptions struct {
	// RankDir is "TB" (top to bottom, the default) or "LR" (left to right).
	RankDir string
}

// WriteMermaid writes a drawing. It returns errors of w.
func WriteMermaid(w io.Writer, d *Drawing, opts MermaidOptions) error {
	out := bufio.NewWriter(w)
	rankdir := opts.RankDir
	if rankdir == "" {
		rankdir = "TB"
	}
	fmt.Fprintf(out, "---\ntitle: %s\n---\nflowchart %s\n", yamlText(d.Title), rankdir)
	m := &mermaidWriter{
		out: out, prefix: "n_", indent: "  ",
		names: map[string]string{}, taken: map[string]bool{}, boxes: map[string][]string{},
	}
	m.drawing(d)
	for i, inner := range d.Inner {
		fmt.Fprintf(out, "  subgraph graph%d[\"%s\"]\n", i, mermaidText(inner.Title))
		m.prefix, m.indent = fmt.Sprintf("g%d_", i), "    "
		m.drawing(inner)
		fmt.Fprintln(out, "  end")
	}
	m.styles()
	return out.Flush()
}

// mermaidWriter writes the boxes and arrows of one graph after the other.
type mermaidWriter struct {
	out *bufio.Writer
	// prefix makes ids unique and different from keywords such as end.
	prefix, indent string
	names          map[string]string // of boxes, by prefix and id
	taken          map[string]bool   // names
	// looks are the styles of boxes in the order of first use; arrows are the styles of arrows.
	looks  []string
	boxes  map[string][]string // names by look
	arrows []string
}

func (m *mermaidWriter) drawing(d *Drawing) {
	finally := false
	for i := range d.Boxes {
		if b := &d.Boxes[i]; b.Finally {
			finally = true
		} else {
			m.box(b)
		}
	}
	if finally {
		fmt.Fprintf(m.out, "%ssubgraph %sfinally[\"finally\"]\n", m.indent, m.prefix)
		indent := m.indent
		m.indent += "  "
		for i := range d.Boxes {
			if b := &d.Boxes[i]; b.Finally {
				m.box(b)
			}
		}
		m.indent = indent
		fmt.Fprintln(m.out, m.indent+"end")
	}
	for i := range d.Arrows {
		m.arrow(&d.Arrows[i])
	}
}

// id returns a unique Mermaid name for a box: characters that Mermaid refuses become "_".
func (m *mermaidWriter) id(box string) string {
	whole := m.prefix + "/" + box
	if name, ok := m.names[whole]; ok {
		return name
	}
	var b strings.Builder
	for i := range len(box) {
		switch c := box[i]; {
		case isWord(c), c == '-' && i > 0 && i+1 < len(box) && isWord(box[i+1]):
			b.WriteByte(c)
		default:
			b.WriteByte('_')
		}
	}
	name := m.prefix + b.String()
	for n := 2; m.taken[name]; n++ {
		name = fmt.Sprintf("%s%s_%d", m.prefix, b.String(), n)
	}
	m.names[whole], m.taken[name] = name, true
	return name
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func (m *mermaidWriter) box(b *Box) {
	id := m.id(b.ID)
	switch b.Role {
	case StartBox:
		fmt.Fprintf(m.out, "%s%s(( ))\n", m.indent, id)
		m.look(id, markLook(b.Mark, inkColor))
	case EndBox:
		fmt.Fprintf(m.out, "%s%s([\"END\"])\n", m.indent, id)
		m.look(id, markLook(b.Mark, inkColor))
	case NodeBox:
		lines := []string{"<b>" + mermaidText(b.ID) + "</b>"}
		for _, text := range []string{b.Kind, strings.Join(b.Notes, " · ")} {
			if text != "" {
				lines = append(lines, "<small>"+mermaidText(text)+"</small>")
			}
		}
		open, shut := mermaidShape(b.Kind)
		fmt.Fprintf(m.out, "%s%s%s\"%s\"%s\n", m.indent, id, open, strings.Join(lines, "<br/>"), shut)
		m.look(id, boxLook(b))
	}
}

// mermaidShape returns the brackets around the label of a box.
func mermaidShape(kind string) (open, shut string) {
	switch kind {
	case "graph":
		return "[[", "]]"
	case "fail":
		return "{{", "}}"
	case "human":
		return "[/", "/]"
	}
	return "(", ")"
}

// boxLook returns the style of a box, in the colours of DOT.
func boxLook(b *Box) string {
	l := looks(b.Kind).marked(b.Mark)
	ink, width := inkColor, "1px"
	switch b.Mark {
	case Untouched:
		ink = quietColor
	case Touched, Unwell, Missed:
		width = "2px"
	case FailedHere, WaitingHere, RunningHere:
		width = "4px"
	}
	dash := ""
	if strings.Contains(l.style, "dashed") || b.Mark == Missed {
		dash = ",stroke-dasharray:4"
	}
	return fmt.Sprintf("fill:%s,stroke:%s,color:%s,stroke-width:%s%s", l.fill, l.line, ink, width, dash)
}

func markLook(m Mark, ink string) string {
	switch m {
	case Untouched:
		ink = paleColor
	case Missed:
		ink = failureColor
	}
	return fmt.Sprintf("fill:%s,stroke:%s,color:#FFFFFF", ink, ink)
}

// look records the style of a box. Boxes of one style share a class.
func (m *mermaidWriter) look(id, look string) {
	if m.boxes[look] == nil {
		m.looks = append(m.looks, look)
	}
	m.boxes[look] = append(m.boxes[look], id)
}

func (m *mermaidWriter) arrow(a *Arrow) {
	line := "-->"
	color, width := inkColor, ""
	switch a.Role {
	case StartArrow, ConditionArrow, UnconditionalArrow:
	case FinallyArrow:
		line, color = "-.->", quietColor
	case FailureArrow:
		color = failureColor
	case ModelArrow:
		color = modelColor
	case GotoArrow:
		line, color = "-.->", gotoColor
	}
	if a.Fallback {
		line = "-.->"
	}
	switch a.Mark {
	case Untouched:
		color = paleColor
	case Missed:
		color = failureColor
	case Touched:
		width = ",stroke-width:3px"
	}
	label := ""
	if strings.TrimSpace(a.Label) != "" {
		label = "|\"" + mermaidText(a.Label) + "\"|"
	}
	fmt.Fprintf(m.out, "%s%s %s%s %s\n", m.indent, m.id(a.From), line, label, m.id(a.To))
	m.arrows = append(m.arrows, fmt.Sprintf("stroke:%s%s", color, width))
}

// styles writes the styles of boxes and arrows. Mermaid numbers arrows.
func (m *mermaidWriter) styles() {
	for i, look := range m.looks {
		fmt.Fprintf(m.out, "  classDef look%d %s\n  class %s look%d\n", i, look, strings.Join(m.boxes[look], ","), i)
	}
	byLook := map[string][]string{}
	var order []string
	for i, look := range m.arrows {
		if byLook[look] == nil {
			order = append(order, look)
		}
		byLook[look] = append(byLook[look], fmt.Sprint(i))
	}
	for _, look := range order {
		fmt.Fprintf(m.out, "  linkStyle %s %s\n", strings.Join(byLook[look], ","), look)
	}
}

// mermaidText makes text literal inside a quoted label: characters with a meaning in Markdown
// or HTML become #NUMBER; entities.
func mermaidText(s string) string {
	var b strings.Builder
	begins := true // nothing but digits before: a list may begin here
	s = printable(s)
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

// yamlText returns a YAML string in one line.
func yamlText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(printable(s)) + `"`
}
