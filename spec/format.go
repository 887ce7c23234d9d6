// The canonical form of a file: the order of the language's page, two spaces, the
// styles and comments as they were.

package spec

import (
	"bytes"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// ErrUnformattable is the error of Format if the canonical form would lose a comment or a value.
var ErrUnformattable = errors.New("it can't be written in canonical form without losing a comment or a value")

// Format returns the canonical form of a graph file, or of another file with the
// given keys: keys in the order of the language's page, two spaces, a blank line
// between top-level blocks, short maps and lists on one line as they were, quotes only
// where they are needed, each comment above, beside or below what it was about. The
// data stays the same, and formatting twice changes nothing. JSON is returned unchanged.
// The error is an *InvalidError, or wraps ErrUnformattable.
func Format(name string, src []byte, keys []Key) ([]byte, error) {
	root, found := load(NewFile(name, src), "a file to format is a map")
	if root == nil || found.HasErrors() {
		return nil, &InvalidError{Findings: found.Sort()}
	}
	if keys == nil {
		keys = TopKeys()
	}
	if first := bytes.TrimLeft(src, " \t\r\n\ufeff"); len(first) > 0 && first[0] == '{' {
		return src, nil
	}
	out, err := formatted(src, keys)
	if err != nil {
		return nil, err
	}
	after, found := load(NewFile(name, out), "")
	if after == nil || found.HasErrors() || !reflect.DeepEqual(root.Data(), after.Data()) || !slices.Equal(comments(src), comments(out)) {
		return nil, ErrUnformattable
	}
	if again, err := formatted(out, keys); err != nil || !bytes.Equal(again, out) {
		return nil, ErrUnformattable
	}
	return out, nil
}

func formatted(src []byte, keys []Key) ([]byte, error) {
	l, err := layOut(src)
	if err != nil {
		return nil, err
	}
	l.attach()
	root := l.nodes[0].node
	sortKeys(root, &Key{Type: TypeObject, Keys: keys})
	p := &printer{layout: l}
	p.writeFile(root)
	return []byte(strings.Join(p.lines, "\n") + "\n"), nil
}

// comments returns the texts of the comments in a file, sorted.
func comments(src []byte) []string {
	l, err := layOut(src)
	if err != nil {
		return nil
	}
	out := make([]string, len(l.comments))
	for i, c := range l.comments {
		out[i] = c.text
	}
	slices.Sort(out)
	return out
}

// sortKeys orders the keys of all maps in the value of a key.
func sortKeys(n *yaml.Node, k *Key) {
	if k == nil {
		return
	}
	if k.Type == TypeOneOf {
		sortKeys(n, formFor(n, k))
		return
	}
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			sortKeys(item, k.Elem)
		}
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	keys := map[Type][]Key{TypeObject: k.Keys, TypeGraph: innerKeys}[k.Type]
	if k.Type == TypeNode {
		keys = nodeOrder(n)
	}
	rank := func(key *yaml.Node) int {
		if i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == key.Value }); i >= 0 {
			return i
		}
		return len(keys)
	}
	pairs := slices.Collect(slices.Chunk(slices.Clone(n.Content), 2))
	slices.SortStableFunc(pairs, func(a, b []*yaml.Node) int { return rank(a[0]) - rank(b[0]) })
	n.Content = slices.Concat(pairs...)
	for _, pair := range pairs {
		if i := rank(pair[0]); i < len(keys) {
			sortKeys(pair[1], &keys[i])
		} else if k.Type == TypeMap {
			sortKeys(pair[1], k.Elem)
		}
	}
}

// formFor returns the form of a key that has the outline of a node, or nil.
func formFor(n *yaml.Node, k *Key) *Key {
	outline := map[yaml.Kind]ValueKind{yaml.SequenceNode: List, yaml.MappingNode: Map}[n.Kind]
	for i := range k.Forms {
		if slices.Contains(outlines[k.Forms[i].Type], outline) {
			return &k.Forms[i]
		}
	}
	return nil
}

// nodeOrder returns the keys of a node in order: its kind, what it is for, the keys of
// the kind, all others.
func nodeOrder(n *yaml.Node) []Key {
	kind := ""
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "kind" {
			kind = n.Content[i+1].Value
		}
	}
	out := []Key{{Name: "kind"}, {Name: "description"}, {Name: "each"}, {Name: "max_concurrency"}, {Name: "reads"}}
	if k := findKind(BuiltinKinds(), kind); k != nil {
		out = append(out, k.Keys...)
	}
	return append(out, NodeKeys()...) // the first of a name counts
}

// printer writes the canonical form line by line.
type printer struct {
	*layout
	lines []string
	// The line that is being written, the nodes on it, and the lines of the block text
	// that it begins.
	line  string
	nodes []*yaml.Node
	block []string
}

// writeFile writes a whole file, with blank lines around its blocks of several lines.
func (p *printer) writeFile(root *yaml.Node) {
	p.writeComments(p.top, "")
	if root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0 {
		p.writeValue(root, -2, true)
		p.line = strings.TrimPrefix(p.line, " ")
		p.flush()
	} else {
		p.writeBlocks(root)
	}
	if len(p.end) > 0 {
		p.blank()
		p.writeComments(p.end, "")
	}
	for n := len(p.lines); n > 0 && p.lines[n-1] == ""; n-- {
		p.lines = p.lines[:n-1]
	}
}

// writeBlocks writes the entries of the top level.
func (p *printer) writeBlocks(root *yaml.Node) {
	long := false
	p.nodes = append(p.nodes, root)
	for i := 0; i < len(root.Content); i += 2 {
		start := len(p.lines)
		p.writeEntry(root, i, 0)
		p.flush()
		if i+2 == len(root.Content) {
			p.closeCollection(root, 0)
		}
		head := start
		for head < len(p.lines) && (p.lines[head] == "" || p.lines[head][0] == '#') {
			head++
		}
		before := long
		long = len(p.lines)-head > 1
		if i > 0 && (before || long || head > start) && p.lines[start] != "" && p.lines[start-1] != "" {
			p.lines = slices.Insert(p.lines, start, "")
		}
	}
}

// writeComments writes comments on lines of their own, at the top level with the blank lines
// around them.
func (p *printer) writeComments(list []*comment, indent string) {
	for i, c := range list {
		if c.above && (i > 0 || indent == "") {
			p.blank()
		}
		p.lines = append(p.lines, indent+c.text)
		if c.below && indent == "" {
			p.blank()
		}
	}
}

// blank writes a blank line, unless it would be the first line or follow another one.
func (p *printer) blank() {
	if len(p.lines) > 0 && p.lines[len(p.lines)-1] != "" {
		p.lines = append(p.lines, "")
	}
}

// flush ends a line: the comments above its nodes, itself with those beside them.
func (p *printer) flush() {
	if p.line == "" {
		return
	}
	indent := p.line[:len(p.line)-len(strings.TrimLeft(p.line, " "))]
	var beside []string
	for _, n := range p.nodes {
		p.writeComments(p.above[n], indent)
		for _, c := range p.beside[n] {
			beside = append(beside, c.text)
		}
	}
	if last := len(beside) - 1; last >= 0 {
		for _, text := range beside[:last] {
			p.lines = append(p.lines, indent+text)
		}
		p.line += " " + beside[last]
	}
	p.lines = append(append(p.lines, p.line), p.block...)
	p.line, p.nodes, p.block = "", nil, nil
}

// writeCollection writes the entries of a map or list in block style; its first one
// continues the line if inline is set.
func (p *printer) writeCollection(n *yaml.Node, indent int, inline bool) {
	step := 2
	if n.Kind == yaml.SequenceNode {
		step = 1
	}
	if !inline {
		p.flush()
	}
	p.nodes = append(p.nodes, n)
	for i := 0; i < len(n.Content); i += step {
		if i > 0 {
			p.flush()
		}
		p.writeEntry(n, i, indent)
	}
	p.flush()
	p.closeCollection(n, indent)
}

// closeCollection writes the comments behind the last entry of a collection.
func (p *printer) closeCollection(n *yaml.Node, indent int) {
	for _, c := range p.below[n] {
		p.lines = append(p.lines, strings.Repeat(" ", indent)+c.text)
	}
}

// writeEntry writes the entry at an index of a collection's content.
func (p *printer) writeEntry(n *yaml.Node, i, indent int) {
	if p.line == "" {
		p.line = strings.Repeat(" ", indent)
	}
	if n.Kind == yaml.SequenceNode {
		p.line += "-"
		p.writeValue(n.Content[i], indent, true)
		return
	}
	p.nodes = append(p.nodes, n.Content[i])
	p.line += p.key(n.Content[i])
	p.writeValue(n.Content[i+1], indent, false)
}

// writeValue writes a value behind a key or the mark of an item.
func (p *printer) writeValue(n *yaml.Node, indent int, item bool) {
	switch {
	case n.Kind != yaml.ScalarNode && n.Kind != yaml.AliasNode && n.Style&yaml.FlowStyle == 0:
		properties := strings.TrimRight(" "+properties(n), " ")
		if properties != "" {
			p.line += properties
		} else if item {
			p.line += " "
		}
		p.writeCollection(n, indent+2, item && properties == "")
		return
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		p.nodes = append(p.nodes, n)
		var head string
		head, p.block = p.blockText(n, strings.Repeat(" ", max(indent, 0)+2))
		p.line += " " + properties(n) + head
		return
	}
	p.addNodes(n)
	if text := p.inline(n); text != "" {
		p.line += " " + text
	}
}

// addNodes records that a node and all of its parts are on the line.
func (p *printer) addNodes(n *yaml.Node) {
	p.nodes = append(p.nodes, n)
	if n.Kind != yaml.AliasNode {
		for _, part := range n.Content {
			p.addNodes(part)
		}
	}
}

// properties returns the anchor and the tag of a node, each with a space behind it.
func properties(n *yaml.Node) (out string) {
	if n.Anchor != "" {
		out = "&" + n.Anchor + " "
	}
	if n.Style&yaml.TaggedStyle != 0 {
		out += n.ShortTag() + " "
	}
	return out
}

// key returns a key with its colon.
func (p *printer) key(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode {
		return "*" + n.Value + " :"
	}
	return p.inline(n) + ":"
}

// inline returns a value on one line.
func (p *printer) inline(n *yaml.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.AliasNode:
		return "*" + n.Value
	case yaml.ScalarNode:
		return strings.TrimSpace(properties(n) + p.scalarText(n))
	case yaml.SequenceNode:
		for _, item := range n.Content {
			parts = append(parts, p.inline(item))
		}
		return properties(n) + "[" + strings.Join(parts, ", ") + "]"
	}
	for i := 0; i < len(n.Content); i += 2 {
		parts = append(parts, p.key(n.Content[i])+" "+p.inline(n.Content[i+1]))
	}
	return properties(n) + "{" + strings.Join(parts, ", ") + "}"
}

// scalarText returns a scalar on one line: without quotes that nothing needs, else as
// it was written.
func (p *printer) scalarText(n *yaml.Node) string {
	quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
	if quoted && n.Tag == "!!str" && n.Anchor == "" && isPlainText(n.Value) {
		return n.Value
	}
	at := p.span[n]
	written := string(p.converter.file.Src[at.From:at.To])
	switch {
	case !strings.ContainsAny(written, "\r\n\u0085\u2028\u2029"):
		return written
	case n.Style&yaml.SingleQuotedStyle != 0 && !strings.Contains(n.Value, "\n"):
		return "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
	case !quoted && !strings.Contains(n.Value, "\n"):
		return n.Value
	}
	return strconv.Quote(n.Value)
}

var plainText = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9 ./\-+*<>=()]*$`)

// isPlainText reports whether a text needs no quotes wherever it stands, and nobody takes it
// for anything else.
func isPlainText(text string) bool {
	return plainText.MatchString(text) && strings.TrimSpace(text) == text && !hasWord("false no null off on true yes y n", strings.ToLower(text))
}

// blockText returns the head of a literal or folded text and its lines as they were
// written, at an indentation.
func (p *printer) blockText(n *yaml.Node, indent string) (head string, lines []string) {
	src, at := p.converter.file.Src, p.span[n]
	head = string(src[at.From])
	text := strings.TrimRight(n.Value, "\n")
	breaks := len(n.Value) - len(text)
	first := strings.TrimLeft(text, "\n")
	more := len(first) - len(strings.TrimLeft(first, " ")) // of the first line, beyond that of the text
	if more > 0 {
		head += "2"
	}
	if breaks == 0 {
		head += "-"
	} else if breaks > 1 || text == "" {
		head += "+"
	}
	if text != "" {
		body := string(src[lineEnd(src, at.From):at.To])
		old := -1
		for i, line := range strings.Split(body, "\n") {
			line = strings.TrimSuffix(line, "\r")
			bare := strings.TrimLeft(line, " ")
			if old < 0 && bare != "" && i > 0 {
				old = len(line) - len(bare) - more
			}
			switch {
			case i == 0:
			case bare == "" && len(line) <= max(old, 0) || old < 0:
				lines = append(lines, "")
			default:
				lines = append(lines, indent+line[min(old, len(line)):])
			}
		}
	} else {
		breaks++
	}
	for range breaks - 1 {
		lines = append(lines, "")
	}
	return head, lines
}
