// Comments in the form of a text: each where it stood, above, beside or below what it
// was about.

package spec

import (
	"bytes"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// notes are the comments of a text by what they are about.
type notes struct {
	top, end []comment
	// above and beside are those of nodes, below those of collections, behind their
	// last entries.
	above, beside, below map[*yaml.Node][]comment
}

// attach finds what each comment is about.
func attach(found []comment, lay *layout) *notes {
	n := &notes{above: map[*yaml.Node][]comment{}, beside: map[*yaml.Node][]comment{}, below: map[*yaml.Node][]comment{}}
	for _, c := range found {
		next := slices.IndexFunc(lay.places, func(p spot) bool { return p.line > c.line || p.line == c.line && p.col > c.col })
		if next < 0 {
			next = len(lay.places)
		}
		switch {
		case c.own && lay.places[0].line >= c.line || next == 0:
			n.top = append(n.top, c)
		case !c.own:
			at := lay.places[next-1].node
			n.beside[at] = append(n.beside[at], c)
		default:
			n.put(c, lay, next)
		}
	}
	return n
}

// put attaches a comment that has a line of its own, in front of a place.
func (n *notes) put(c comment, lay *layout, next int) {
	if len(c.open) > 0 {
		flow := c.open[len(c.open)-1]
		if next < len(lay.places) && slices.ContainsFunc(lay.above[next], func(e int) bool { return lay.entries[e].in == flow }) {
			at := lay.places[next].node
			n.above[at] = append(n.above[at], c)
			return
		}
		if len(flow.Content) > 0 {
			n.below[flow] = append(n.below[flow], c)
			return
		}
	}
	outside := 0 // the column of what follows
	if next < len(lay.places) {
		outside = c.col
		for _, e := range lay.above[next] {
			if lay.entries[e].first == next {
				outside = lay.entries[e].col
				break
			}
		}
	}
	for _, e := range slices.Backward(lay.above[next-1]) {
		own := &lay.entries[e]
		if !own.inBrackets() && own.last < next && own.col <= c.col && own.col > outside {
			n.below[own.in] = append(n.below[own.in], c)
			return
		}
	}
	if next == len(lay.places) {
		n.end = append(n.end, c)
		return
	}
	at := lay.places[next].node
	n.above[at] = append(n.above[at], c)
}

// annotated is the form of a document with its comments. before is the layout of the
// document as it is written, of the nodes that the comments are attached to.
func (n *notes) annotated(text []byte, before *layout) ([]byte, error) {
	doc, _, err := decodeYAML(bytes.NewReader(text))
	if err != nil || doc == nil {
		return nil, ErrUnformattable
	}
	after := layOut(doc)
	if len(after.places) != len(before.places) {
		return nil, ErrUnformattable
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	above, below, beside := make([][]string, len(lines)), make([][]string, len(lines)), make([][]string, len(lines))
	indent := func(line int) string { return lines[line][:len(lines[line])-len(strings.TrimLeft(lines[line], " "))] }
	for i, p := range before.places {
		line := after.places[i].line
		for k, c := range n.above[p.node] {
			if c.above && (k > 0 || indent(line) == "") {
				above[line] = append(above[line], "")
			}
			above[line] = append(above[line], indent(line)+c.text)
			if c.below && indent(line) == "" {
				above[line] = append(above[line], "")
			}
		}
		for _, c := range n.beside[p.node] {
			beside[line] = append(beside[line], c.text)
		}
	}
	done := map[*yaml.Node]bool{}
	for i := len(before.entries) - 1; i >= 0; i-- { // the last of each collection, the inner ones first
		own, in := &after.entries[i], before.entries[i].in
		if done[in] {
			continue
		}
		done[in] = true
		last := len(lines) - 1
		if own.last+1 < len(after.places) {
			last = max(after.places[own.last+1].line-1, after.places[own.last].line)
		}
		for _, c := range n.below[in] {
			below[last] = append(below[last], strings.Repeat(" ", own.col)+c.text)
		}
	}
	return n.woven(lines, above, beside, below), nil
}

// woven are lines with the comments above, beside and below them.
func (n *notes) woven(lines []string, above, beside, below [][]string) []byte {
	var out []string
	group := func(list []comment) {
		for _, c := range list {
			if c.above && len(out) > 0 && out[len(out)-1] != "" {
				out = append(out, "")
			}
			out = append(out, c.text)
		}
		if len(list) > 0 && list[len(list)-1].below {
			out = append(out, "")
		}
	}
	group(n.top)
	for i, line := range lines {
		for _, text := range above[i] {
			if text != "" || len(out) > 0 && out[len(out)-1] != "" {
				out = append(out, text)
			}
		}
		if k := len(beside[i]) - 1; k >= 0 {
			space := line[:len(line)-len(strings.TrimLeft(line, " "))]
			for _, text := range beside[i][:k] {
				out = append(out, space+text)
			}
			line += " " + beside[i][k]
		}
		out = append(append(out, line), below[i]...)
	}
	group(n.end)
	return []byte(strings.Join(out, "\n") + "\n")
}

// bare takes the comments off all nodes, and brackets off those in which a comment
// stands: there it would have no line.
func bare(doc *yaml.Node, found []comment) {
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		n.HeadComment, n.LineComment, n.FootComment = "", "", ""
		for _, inner := range n.Content {
			walk(inner)
		}
	}
	walk(doc)
	for _, c := range found {
		for _, n := range c.open {
			if len(n.Content) > 0 {
				n.Style &^= yaml.FlowStyle
			}
		}
	}
}
