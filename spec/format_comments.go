// Comments of a YAML text, and what they stand at.

package spec

import (
	"bytes"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// comment is one of a text.
type comment struct {
	text string
	line int // from 0
	col  int // of the mark, in characters from 0
	// own says that nothing but it stands on its line; above and below that a line
	// without anything stands there.
	own, above, below bool
	// open are the collections in brackets that it stands in, outermost first.
	open []*yaml.Node
}

// spot is where a node begins in a text.
type spot struct {
	node      *yaml.Node
	line, col int // from 0
}

// entry is a key with its value, or an item of a list: what comments stand above,
// beside or below.
type entry struct {
	col         int // of the key or the mark of the item
	first, last int // of its nodes, in the order of the text
	in          *yaml.Node
}

// inBrackets reports whether the collection of an entry is written in brackets.
func (e *entry) inBrackets() bool { return e.in.Style&yaml.FlowStyle != 0 }

// layout is where everything stands in a text.
type layout struct {
	places  []spot
	entries []entry
	// above are the entries that each node is part of, outermost first.
	above [][]int
	// parents are the columns of the collections around the nodes.
	parents map[*yaml.Node]int
}

// layOut finds the nodes of a document, in the order of the text.
func layOut(doc *yaml.Node) *layout {
	l := &layout{parents: map[*yaml.Node]int{}}
	var walk func(n *yaml.Node, in []int, col int)
	put := func(n *yaml.Node, in []int) {
		l.places = append(l.places, spot{n, n.Line - 1, n.Column - 1})
		l.above = append(l.above, in)
	}
	begin := func(col int, n *yaml.Node, in []int) []int {
		l.entries = append(l.entries, entry{col: col, first: len(l.places), in: n})
		return append(slices.Clip(in), len(l.entries)-1)
	}
	end := func(in []int) { l.entries[in[len(in)-1]].last = len(l.places) - 1 }
	walk = func(n *yaml.Node, in []int, col int) {
		put(n, in)
		l.parents[n] = col
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				key := n.Content[i]
				own := begin(key.Column-1, n, in)
				walk(key, own, n.Column-1)
				walk(n.Content[i+1], own, n.Column-1)
				end(own)
			}
		case yaml.SequenceNode:
			for _, item := range n.Content {
				own := begin(n.Column-1, n, in)
				walk(item, own, n.Column-1)
				end(own)
			}
		}
	}
	if len(doc.Content) > 0 {
		walk(doc.Content[0], nil, -1)
	}
	return l
}

// commentScanner reads the comments of a text whose nodes are known: a mark in a
// quoted text or a block is none.
type commentScanner struct {
	lines [][]rune
	lay   *layout
	next  int // place
	open  []*yaml.Node
	out   []comment
}

// commentsOf are the comments of a text, in order.
func commentsOf(src []byte, lay *layout) []comment {
	s := &commentScanner{lay: lay}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	for line := range strings.SplitSeq(string(src), "\n") {
		s.lines = append(s.lines, []rune(strings.TrimRight(line, "\r")))
	}
	line, col := 0, 0
	for line < len(s.lines) {
		text := s.lines[line]
		s.enter(line, col)
		if at := s.at(line, col); at != nil {
			if to, toCol, skipped := s.skip(at, line, col); skipped {
				line, col = to, toCol
				continue
			}
		}
		if col >= len(text) {
			line, col = line+1, 0
			continue
		}
		switch c := text[col]; {
		case c == '#' && (col == 0 || text[col-1] == ' ' || text[col-1] == '\t'):
			s.add(line, col)
			line, col = line+1, 0
			continue
		case (c == ']' || c == '}') && len(s.open) > 0:
			s.open = s.open[:len(s.open)-1]
		}
		col++
	}
	return s.out
}

func (s *commentScanner) add(line, col int) {
	text := s.lines[line]
	before := strings.TrimLeft(string(text[:col]), " \t")
	for strings.HasPrefix(before, "- ") || strings.HasPrefix(before, "? ") {
		before = strings.TrimLeft(before[2:], " \t")
	}
	c := comment{text: strings.TrimRight(string(text[col:]), " \t"), line: line, col: col, open: slices.Clone(s.open)}
	if before == "" && strings.TrimSpace(string(text[:col])) != "" {
		c.col = 0 // behind the mark of an item: it is about what follows
	}
	c.own = before == "" || strings.TrimSpace(string(text[:col])) == "---"
	c.above = c.own && line > 0 && strings.TrimSpace(string(s.lines[line-1])) == ""
	c.below = c.own && line+1 < len(s.lines) && strings.TrimSpace(string(s.lines[line+1])) == ""
	s.out = append(s.out, c)
}

// enter steps over the nodes that begin in front of a place.
func (s *commentScanner) enter(line, col int) {
	for s.next < len(s.lay.places) {
		p := s.lay.places[s.next]
		if p.line > line || p.line == line && p.col >= col {
			return
		}
		s.next++
	}
}

// at is the node that begins at a place, where a text or a bracket may begin.
func (s *commentScanner) at(line, col int) *yaml.Node {
	var found *yaml.Node
	for s.next < len(s.lay.places) {
		p := s.lay.places[s.next]
		if p.line != line || p.col != col {
			break
		}
		found = p.node
		s.next++
		if found.Kind != yaml.ScalarNode && found.Style&yaml.FlowStyle != 0 {
			break
		}
	}
	return found
}

// skip steps over what may hold marks that are no comments, and into brackets.
func (s *commentScanner) skip(n *yaml.Node, line, col int) (toLine, toCol int, ok bool) {
	text := s.lines[line]
	for col < len(text) && (text[col] == '&' || text[col] == '!') { // anchor and tag
		for col < len(text) && text[col] != ' ' && text[col] != '\t' {
			col++
		}
		for col < len(text) && (text[col] == ' ' || text[col] == '\t') {
			col++
		}
	}
	if col >= len(text) {
		return line, col, false
	}
	switch c := text[col]; {
	case n.Kind == yaml.ScalarNode && (c == '"' || c == '\'') && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return s.quoted(line, col)
	case n.Kind == yaml.ScalarNode && (c == '|' || c == '>') && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return s.block(n, line, col)
	case n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle != 0 && (c == '[' || c == '{'):
		s.open = append(s.open, n)
		return line, col + 1, true
	}
	return line, col, false
}

// quoted steps behind a text in quotes.
func (s *commentScanner) quoted(line, col int) (toLine, toCol int, ok bool) {
	quote := s.lines[line][col]
	col++
	for ; line < len(s.lines); line, col = line+1, 0 {
		text := s.lines[line]
		for ; col < len(text); col++ {
			switch {
			case text[col] == '\\' && quote == '"':
				col++
			case text[col] == quote && quote == '\'' && col+1 < len(text) && text[col+1] == quote:
				col++
			case text[col] == quote:
				return line, col + 1, true
			}
		}
	}
	return line, 0, true
}

// block steps behind a text in a block; a comment may stand behind its head.
func (s *commentScanner) block(n *yaml.Node, line, col int) (toLine, toCol int, ok bool) {
	head := s.lines[line]
	explicit := 0
	for ; col < len(head); col++ {
		if head[col] >= '1' && head[col] <= '9' {
			explicit = int(head[col] - '0')
		}
		if head[col] == '#' {
			s.add(line, col)
			break
		}
	}
	least := max(s.lay.parents[n], 0) + explicit
	if explicit == 0 {
		least = -1
	}
	for line++; line < len(s.lines); line++ {
		indent := 0
		for indent < len(s.lines[line]) && s.lines[line][indent] == ' ' {
			indent++
		}
		if indent == len(s.lines[line]) {
			continue // blank
		}
		if least < 0 {
			if least = indent; indent <= s.lay.parents[n] {
				return line, 0, true // an empty block
			}
		}
		if indent < least {
			return line, 0, true
		}
	}
	return line, 0, true
}
