// Where the nodes and comments of a YAML text stand, for its canonical form.

package spec

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// comment is a comment of a text. own says that it has a line of its own; above and
// below, that a blank line stands there.
type comment struct {
	text              string
	at, col           int
	own, above, below bool
	open              []*yaml.Node // the collections in brackets around it, outermost first
}

// layout holds the nodes and comments of a text, in order.
type layout struct {
	converter *converter
	nodes     []placed
	comments  []*comment
	span      map[*yaml.Node]Span // of the contents of scalars
	parent    map[*yaml.Node]*yaml.Node

	// Where each comment belongs: to the file; above or beside a node; behind the last
	// entry of a collection.
	top, end             []*comment
	above, beside, below map[*yaml.Node][]*comment
}

// placed is a node and the offset at which it begins.
type placed struct {
	node *yaml.Node
	at   int
}

func layOut(src []byte) (*layout, error) {
	file := NewFile("", src)
	doc, _, _, err := readYAML(src)
	if err != nil || doc == nil || len(doc.Content) == 0 {
		return nil, ErrUnformattable
	}
	l := &layout{
		converter: newConverter(file), span: map[*yaml.Node]Span{}, parent: map[*yaml.Node]*yaml.Node{},
		above: map[*yaml.Node][]*comment{}, beside: map[*yaml.Node][]*comment{}, below: map[*yaml.Node][]*comment{},
	}
	starts := map[int]*yaml.Node{} // scalars and brackets
	l.place(doc.Content[0], starts)
	l.scan(starts)
	return l, nil
}

func (l *layout) place(n *yaml.Node, starts map[int]*yaml.Node) {
	c := l.converter
	at := c.offset(n.Line, n.Column)
	l.nodes = append(l.nodes, placed{n, at})
	if n.Kind == yaml.AliasNode {
		return
	}
	at = c.skipProperties(n, at)
	if n.Kind == yaml.ScalarNode {
		l.span[n] = Span{at, c.scalarEnd(n, at)}
		if l.span[n].To > at {
			starts[at] = n
		}
	} else if n.Style&yaml.FlowStyle != 0 {
		starts[at] = n
	}
	for _, part := range n.Content {
		l.parent[part] = n
		l.place(part, starts)
	}
}

// scan finds the comments: a mark outside of scalars begins one.
func (l *layout) scan(starts map[int]*yaml.Node) {
	src := l.converter.file.Src
	var open []*yaml.Node
	until := -1 // where the lines of a block text end, whose head is being read
	for at := 0; at < len(src); {
		if n := starts[at]; n != nil && n.Kind == yaml.ScalarNode {
			if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
				at = l.span[n].To
				continue
			}
			until = l.span[n].To
		} else if n != nil {
			open = append(open, n)
		}
		switch c := src[at]; {
		case c == '#':
			l.comment(at, open)
			at = lineEnd(src, at)
			continue
		case (c == ']' || c == '}') && len(open) > 0:
			open = open[:len(open)-1]
		case c == '\n' && until >= 0:
			at = max(at, until)
			until = -1
		}
		at++
	}
}

func (l *layout) comment(at int, open []*yaml.Node) {
	file := l.converter.file
	line := file.Position(at).Line
	text := string(file.Src[at:lineEnd(file.Src, at)])
	before := string(file.Src[file.lines[line-1]:at])
	c := &comment{text: strings.TrimRight(text, " \t\r"), at: at, col: len([]rune(before)), open: slices.Clone(open)}
	marks := strings.TrimSpace(strings.TrimPrefix(before, byteOrderMark))
	if c.own = strings.Trim(marks, "-? ") == "" && !strings.Contains(marks, "--") || marks == "---"; c.own && marks != "" {
		c.col = 0 // behind the mark of an item: it is about what follows
	}
	c.above = c.own && line > 1 && strings.TrimSpace(file.Line(line-1)) == ""
	c.below = c.own && line < len(file.lines) && strings.TrimSpace(file.Line(line+1)) == ""
	l.comments = append(l.comments, c)
}

// attach assigns each comment to a node. Collections in brackets with comments become block
// collections, where comments have lines.
func (l *layout) attach() {
	for _, c := range l.comments {
		next := slices.IndexFunc(l.nodes, func(p placed) bool { return p.at > c.at })
		if next < 0 {
			next = len(l.nodes)
		}
		switch {
		case next == 0:
			l.top = append(l.top, c)
		case !c.own:
			at := l.nodes[next-1].node
			l.beside[at] = append(l.beside[at], c)
		default:
			l.attachLine(c, next)
		}
		for _, n := range c.open {
			if len(n.Content) > 0 {
				n.Style &^= yaml.FlowStyle
			}
		}
	}
}

// attachLine attaches a comment with a line of its own, in front of a node.
func (l *layout) attachLine(c *comment, next int) {
	var following *yaml.Node
	around := map[*yaml.Node]bool{} // the collections that go on behind the comment
	if next < len(l.nodes) {
		following = l.nodes[next].node
		for n := l.parent[following]; n != nil; n = l.parent[n] {
			around[n] = true
		}
	}
	outside := 0 // the column of what follows
	for n := l.nodes[next-1].node; n != nil; n = l.parent[n] {
		if around[n] {
			outside = n.Column - 1
			break
		}
	}
	if n := len(c.open) - 1; n >= 0 && len(c.open[n].Content) > 0 {
		if flow := c.open[n]; !around[flow] {
			l.below[flow] = append(l.below[flow], c)
			return
		}
	} else {
		for n := l.nodes[next-1].node; n != nil && !around[n]; n = l.parent[n] {
			if n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0 && n.Column-1 <= c.col && n.Column-1 > outside {
				l.below[n] = append(l.below[n], c)
				return
			}
		}
	}
	if following == nil {
		l.end = append(l.end, c)
		return
	}
	l.above[following] = append(l.above[following], c)
}
