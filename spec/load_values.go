// From the YAML library's nodes to values with spans: positions, aliases,
// merge keys, duplicate keys, tags.

package spec

import (
	"bytes"
	"fmt"
	"sort"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// converter turns nodes of one document into values. It belongs to one call of load.
type converter struct {
	file  *File
	text  []byte // what the library read: the file, or JSON rewritten by plainJSON
	moved []shift
	lines []int // offsets in text of the lines as YAML counts them
	ascii bool
	// The last column that was found, so that a line of a megabyte with many
	// values is not counted from its start for each.
	lastLine, lastColumn, lastOffset int

	source   *scalar
	anchors  map[*yaml.Node]*anchored
	depth    int
	expanded int
	refused  bool // a limit was hit: the tree is not complete
	diags    Diagnostics
}

// anchored is a value that aliases repeat; size is its number of values, 0
// while it is being read.
type anchored struct {
	value Value
	size  int
}

func newConverter(file *File, text []byte, moved []shift) *converter {
	return &converter{
		file: file, text: text, moved: moved, lines: yamlLines(text), source: &scalar{src: file.Src},
		ascii: bytes.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0,
	}
}

func yamlLines(text []byte) []int {
	lines := []int{0}
	for i := 0; i < len(text); {
		end := lineEnd(text, i)
		n, _ := lineBreak(text, end)
		if n == 0 {
			break
		}
		i = end + n
		lines = append(lines, i)
	}
	return lines
}

// offset is the place in the file of a line and column (in characters) of the library.
func (c *converter) offset(line, column int) int {
	if line < 1 || line > len(c.lines) {
		return len(c.file.Src)
	}
	at := c.lines[line-1]
	if c.ascii {
		at += column - 1
	} else {
		count := 1
		if line == c.lastLine && column >= c.lastColumn {
			at, count = c.lastOffset, c.lastColumn
		} else if line == 1 && bytes.HasPrefix(c.text, []byte("\ufeff")) {
			at = 3 // the library does not count the mark
		}
		for ; count < column && at < len(c.text); count++ {
			_, size := utf8.DecodeRune(c.text[at:])
			at += size
		}
		c.lastLine, c.lastColumn, c.lastOffset = line, column, at
	}
	at = min(at, len(c.text))
	if i := sort.Search(len(c.moved), func(i int) bool { return c.moved[i].at > at }); i > 0 {
		at += c.moved[i-1].by
	}
	return min(at, len(c.file.Src))
}

func (c *converter) report(rule string, span Span, message string) {
	c.diags = append(c.diags, Diagnostic{File: c.file, Rule: rule, Severity: Error, Span: span, Message: message})
}

// convert reads a node into a value, which is zero before, and returns the
// number of values in it.
func (c *converter) convert(n *yaml.Node, v *Value) int {
	if c.refused {
		v.Kind = Null
		return 1
	}
	if n.Kind == yaml.AliasNode {
		return c.alias(n, v)
	}
	var entry *anchored
	if n.Anchor != "" {
		entry = &anchored{}
		if c.anchors == nil {
			c.anchors = map[*yaml.Node]*anchored{}
		}
		c.anchors[n] = entry
	}
	at := c.skipProperties(n, c.offset(n.Line, n.Column))
	size := 1
	c.depth++
	switch {
	case c.depth > maxDepth && n.Kind != yaml.ScalarNode:
		c.refused = true
		c.diags = append(c.diags, tooDeep(c.file, at))
	case n.Kind == yaml.ScalarNode:
		c.scalar(n, at, v)
	case n.Kind == yaml.SequenceNode:
		size = c.list(n, at, v)
	case c.unquoted(n, at, v):
	default:
		size = c.mapping(n, at, v)
	}
	c.depth--
	if entry != nil {
		entry.value, entry.size = *v, size
	}
	return size
}

// alias repeats the anchored value; the parts are shared, so a bomb costs
// nothing here, but whoever walks the tree would pay: hence the limit.
func (c *converter) alias(n *yaml.Node, v *Value) int {
	at := c.offset(n.Line, n.Column)
	span := Span{at, min(at+1+len(n.Value), len(c.file.Src))}
	entry := c.anchors[n.Alias]
	if entry == nil || entry.size == 0 {
		c.refused = true
		c.report("syntax", span, fmt.Sprintf("the alias %q stands inside the value that it repeats", "*"+n.Value))
		v.Kind, v.Span = Null, span
		return 1
	}
	c.expanded += entry.size
	if c.expanded > maxExpanded {
		c.refused = true
		c.report("syntax", span, fmt.Sprintf("aliases repeat more than %d values; at most %d are allowed", maxExpanded, maxExpanded))
	}
	*v = entry.value
	return entry.size
}

// skipProperties moves from a node's tag and anchor to its content.
func (c *converter) skipProperties(n *yaml.Node, at int) int {
	src := c.file.Src
	if at >= len(src) || src[at] != '&' && src[at] != '!' {
		return at
	}
	empty := n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&^yaml.TaggedStyle == 0
	for at < len(src) && (src[at] == '&' || src[at] == '!') {
		at = propertyEnd(src, at)
		if empty {
			return at
		}
		at = skipSpace(src, at)
	}
	return at
}

// propertyEnd is the offset behind the anchor or tag at an offset. A tag ends
// at white space; what follows an anchor may touch it.
func propertyEnd(src []byte, at int) int {
	anchor := src[at] == '&'
	for at++; at < len(src) && !isSpaceAt(src, at); at++ {
		if c := src[at]; anchor && !isLetter(c) && (c < '0' || c > '9') && c != '_' && c != '-' {
			return at
		}
	}
	return at
}

func isSpaceAt(src []byte, at int) bool {
	if isBlank(src[at]) {
		return true
	}
	n, _ := lineBreak(src, at)
	return n > 0
}

// skipSpace moves over white space, line breaks and comments.
func skipSpace(src []byte, at int) int {
	for at < len(src) {
		switch {
		case isBlank(src[at]):
			at++
		case src[at] == '#' && (at == 0 || isSpaceBefore(src, at)):
			at = lineEnd(src, at)
		default:
			n, _ := lineBreak(src, at)
			if n == 0 {
				return at
			}
			at += n
		}
	}
	return at
}

func isSpaceBefore(src []byte, at int) bool {
	c := src[at-1]
	return isBlank(c) || c == '\n' || c == '\r' || c >= 0x80 || c == ',' || c == '[' || c == '{'
}

func (c *converter) list(n *yaml.Node, at int, v *Value) (size int) {
	size, end := 1, at
	items := make([]Value, len(n.Content))
	for i, item := range n.Content {
		size += c.convert(item, &items[i])
		end = max(end, c.endOf(item, &items[i]))
	}
	v.Kind, v.Items = List, items
	v.Span = Span{at, c.close(n, at, end, '[', ']')}
	c.checkTag(n, v.Span, "!!seq")
	return size
}

// endOf is where a child ends in the text; an alias ends with its name.
func (c *converter) endOf(n *yaml.Node, v *Value) int {
	if n.Kind == yaml.AliasNode {
		return min(c.offset(n.Line, n.Column)+1+len(n.Value), len(c.file.Src))
	}
	return v.Span.To
}

// close finds the bracket behind the last part of a list or map in flow style.
func (c *converter) close(n *yaml.Node, start, end int, open, shut byte) int {
	src := c.file.Src
	if n.Style&yaml.FlowStyle == 0 || start >= len(src) || src[start] != open {
		return end
	}
	if end == start {
		end++
	}
	for at := end; at < len(src); at++ {
		at = skipSpace(src, at)
		if at < len(src) && src[at] == shut {
			return at + 1
		}
		if at >= len(src) || src[at] != ',' && src[at] != ':' {
			break
		}
	}
	return end
}

func (c *converter) checkTag(n *yaml.Node, span Span, want string) {
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != want {
		c.report("syntax", span, fmt.Sprintf("the tag %q is not supported here; allowed are !!bool, !!float, !!int, !!map, !!null, !!seq, !!str where they fit", n.Tag))
	}
}
