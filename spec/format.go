// The canonical form of a file: ordered keys, an indentation of two spaces, styles and comments as written.

package spec

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/internal/lazyregexp"
)

// ErrUnformattable is the error of Format for a file whose canonical form would lose a comment or a value.
var ErrUnformattable = errors.New("it can't be written in canonical form without losing a comment or a value")

// Format returns the canonical form of a file with the given keys, by default a graph file. Keys have
// the order of the table, blank lines separate top-level blocks, lists and maps in brackets stay on one
// line, only necessary quotes stay, and each comment stays above, beside or below its entry. The data
// stays the same, and formatting twice changes nothing. Format does not change a file in brackets,
// such as JSON. The error is an *InvalidError, or wraps ErrUnformattable.
func Format(name string, src []byte, keys []Key) ([]byte, error) {
	root, found := loadMap(NewFile(name, src), "a file to format is a map")
	if root == nil || found.HasErrors() {
		return nil, &InvalidError{Findings: found.Sort()}
	}
	if keys == nil {
		keys = TopKeys
	}
	out, err := formatOnce(src, keys)
	if err != nil {
		return nil, err
	}
	after, found := loadMap(NewFile(name, out), "")
	if after == nil || found.HasErrors() || !reflect.DeepEqual(root.Data(), after.Data()) {
		return nil, ErrUnformattable
	}
	if again, err := formatOnce(out, keys); err != nil || !bytes.Equal(again, out) {
		return nil, ErrUnformattable
	}
	return out, nil
}

func formatOnce(src []byte, keys []Key) ([]byte, error) {
	docs, _, err := readYAML(src)
	if err != nil || len(docs) == 0 || len(docs[0].Content) == 0 {
		return nil, ErrUnformattable
	}
	root := docs[0].Content[0]
	if !isBlockCollection(root) {
		return src, nil
	}
	f := &formatter{converter: &converter{reporter: reporter{file: NewFile("", src)}}, notes: map[*yaml.Node]*notes{}, below: map[*yaml.Node][]comment{}, last: &notes{}}
	f.readComments(root)
	end := f.takeComments(len(src), 0)
	first := f.notes[root.Content[0]]
	top := first.above
	first.above = nil
	sortKeys(root, &Key{Type: TypeObject, Keys: keys})
	return []byte(strings.Join(f.formatFile(root, top, end), "\n") + "\n"), nil
}

// isBlockCollection reports whether a node is a list or map without brackets.
func isBlockCollection(n *yaml.Node) bool {
	return (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && n.Style&yaml.FlowStyle == 0
}

func isBlockText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// sortKeys orders the keys of all maps in the value of a key.
func sortKeys(n *yaml.Node, k *Key) {
	if k == nil {
		return
	}
	for i := range k.Forms {
		sortKeys(n, &k.Forms[i]) // only one form fits the node
	}
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			sortKeys(item, k.Elem)
		}
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	keys := map[Type][]Key{TypeObject: k.Keys, TypeGraph: innerKeys()}[k.Type]
	if k.Type == TypeNode {
		keys = orderNodeKeys(n)
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

// orderNodeKeys returns the keys of a node in order: its kind, general keys, the keys of the kind, all others.
func orderNodeKeys(n *yaml.Node) []Key {
	kind := ""
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "kind" {
			kind = n.Content[i+1].Value
		}
	}
	out := []Key{{Name: "kind"}, {Name: "description"}, {Name: "each"}, {Name: "max_concurrency"}, {Name: "reads"}}
	if k := findKind(BuiltinKinds, kind); k != nil {
		out = append(out, k.Keys...)
	}
	return append(out, NodeKeys...) // some keys are listed twice; the first occurrence counts
}

// formatter first collects the comments around the nodes of a text, then writes nodes and comments.
type formatter struct {
	*converter
	notes map[*yaml.Node]*notes    // the comments of entries, by key or item
	below map[*yaml.Node][]comment // the comments after the last entry of a block collection
	at    int                      // the offset up to which comments are collected
	last  *notes                   // the comments of the latest entry
	ended []*yaml.Node             // the block collections that end at the offset, innermost first
}

// notes holds the comments of an entry.
type notes struct{ above, beside []comment }

// comment is a comment and its column. above and below report blank lines around it.
type comment struct {
	text         string
	col          int
	above, below bool
}

// span returns the span of a node in brackets or of a scalar, without its tag and anchor.
func (f *formatter) span(n *yaml.Node) Span {
	at := f.offset(n.Line, n.Column)
	if n.Kind == yaml.AliasNode {
		return f.aliasSpan(n)
	}
	at = f.skipProperties(n, at)
	if n.Kind == yaml.ScalarNode {
		return Span{at, f.scalarEnd(n, at)}
	}
	end := at
	for _, part := range n.Content {
		end = max(end, f.span(part).To)
	}
	return Span{at, f.findCollectionEnd(n, at, end)}
}

// columnOf returns the column of the entries of a block collection.
func columnOf(n *yaml.Node) int {
	if n.Kind == yaml.MappingNode {
		n = n.Content[0]
	}
	return n.Column - 1
}

// entrySize returns the number of nodes of an entry in a collection.
func entrySize(n *yaml.Node) int {
	if n.Kind == yaml.MappingNode {
		return 2
	}
	return 1
}

// readComments collects the comments in a block collection.
func (f *formatter) readComments(n *yaml.Node) {
	for entry := range slices.Chunk(n.Content, entrySize(n)) {
		own := &notes{}
		f.notes[entry[0]] = own
		for _, part := range entry {
			if isBlockCollection(part) {
				f.readComments(part)
				continue
			}
			at := f.span(part)
			if isBlockText(part) { // a comment may follow the head of the text
				at.From = lineEnd(f.file.Src, at.From)
				at.To = max(at.From, at.To)
			}
			own.above = append(own.above, f.takeComments(at.From, columnOf(n))...)
			f.last, f.at = own, at.To
		}
	}
	f.ended = append(f.ended, n)
}

var commentText = lazyregexp.New(`(?:^|[ \t\x{feff}])#.*`)

// takeComments collects the comments between the latest entry and an offset. A comment belongs to the entry
// on its line, or to the ended collection with its indentation. takeComments returns the other comments,
// which belong to the next entry, at column col.
func (f *formatter) takeComments(to, col int) (out []comment) {
	src, isStart := f.file.Src, f.at == 0
	lines := strings.Split(string(src[min(f.at, to):to]), "\n")
	isBlank := func(i int) bool { return i >= 0 && i < len(lines) && strings.TrimSpace(lines[i]) == "" }
	for i, line := range lines {
		at := commentText.Get().FindStringIndex(line)
		if at == nil {
			continue
		}
		before, text, _ := strings.Cut(line, "#")
		before = strings.TrimPrefix(before, byteOrderMark)
		c := comment{text: "#" + strings.TrimRight(text, " \t\r"), col: len([]rune(before))}
		if strings.TrimSpace(before) != "" {
			c.col = 0 // after the dash of an item: it belongs to the item
		}
		c.above = isBlank(i-1) && (i > 1 || isStart)
		c.below = isBlank(i+1) && (i+2 < len(lines) || to == len(src))
		if i == 0 && !isStart {
			f.last.beside = append(f.last.beside, c)
			continue
		}
		for len(f.ended) > 0 && (columnOf(f.ended[0]) > c.col || columnOf(f.ended[0]) <= col) {
			f.ended = f.ended[1:]
		}
		if len(f.ended) > 0 {
			f.below[f.ended[0]] = append(f.below[f.ended[0]], c)
		} else {
			out = append(out, c)
		}
	}
	f.at, f.ended = to, nil
	return out
}

// formatFile returns the lines of a file, with blank lines around entries of several lines.
func (f *formatter) formatFile(root *yaml.Node, top, end []comment) (lines []string) {
	blank := func() {
		if n := len(lines); n > 0 && lines[n-1] != "" {
			lines = append(lines, "")
		}
	}
	write := func(list []comment) {
		lines = append(lines, formatComments(list, 0)...)
		if n := len(list) - 1; n >= 0 && list[n].below {
			blank()
		}
	}
	write(top)
	long := false
	for i := 0; i < len(root.Content); i += 2 {
		entry, above := f.formatEntry(root, i, 0), f.notes[root.Content[i]].above
		head := slices.IndexFunc(entry, func(line string) bool { return line[0] != '#' })
		before := long
		if long = len(entry)-head > 1; i > 0 && (before || long || head > 0 || len(above) > 0) {
			blank()
		}
		write(above)
		lines = append(lines, entry...)
	}
	if len(end) > 0 {
		blank()
		write(end)
	}
	if n := len(lines) - 1; lines[n] == "" {
		lines = lines[:n]
	}
	return lines
}

// formatBlock returns the lines of a block collection.
func (f *formatter) formatBlock(n *yaml.Node, indent int) (lines []string) {
	for i := 0; i < len(n.Content); i += entrySize(n) {
		lines = append(lines, formatComments(f.notes[n.Content[i]].above, indent)...)
		lines = append(lines, f.formatEntry(n, i, indent)...)
	}
	return append(lines, formatComments(f.below[n], indent)...)
}

func formatComments(list []comment, indent int) (lines []string) {
	for i, c := range list {
		if c.above && i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, strings.Repeat(" ", indent)+c.text)
	}
	return lines
}

// formatEntry returns the lines of the entry at an index, with one comment beside it and the others above.
func (f *formatter) formatEntry(n *yaml.Node, i, indent int) (lines []string) {
	pad := strings.Repeat(" ", indent)
	v, head := n.Content[i], pad+"-"
	beside := f.notes[v].beside
	if n.Kind == yaml.MappingNode {
		head, v = pad+f.formatInline(v)+":", n.Content[i+1]
	}
	at := 0 // the index of the line that gets the comment
	switch {
	case isBlockCollection(v):
		lines = f.formatBlock(v, indent+2)
		if n.Kind == yaml.SequenceNode && formatProperties(v) == "" { // the item begins on the line of its dash
			for strings.HasPrefix(strings.TrimSpace(lines[at])+"#", "#") {
				lines[at] = strings.TrimRight(pad+strings.TrimSpace(lines[at]), " ")
				at++
			}
			lines[at] = head + lines[at][indent+1:]
		} else {
			lines = slices.Insert(lines, 0, head+strings.TrimRight(" "+formatProperties(v), " "))
		}
	case isBlockText(v):
		start, text := f.formatBlockText(v, pad+"  ")
		lines = append([]string{head + " " + formatProperties(v) + start}, text...)
	default:
		lines = strings.Split(strings.TrimRight(head+" "+f.formatValue(v, indent-columnOf(n), indent), " "), "\n")
		at = len(lines) - 1
	}
	if last := len(beside) - 1; last >= 0 {
		lines[at] += " " + beside[last].text
		lines = append(formatComments(beside[:last], indent), lines...)
	}
	return lines
}

// formatValue returns a value on one line, or on its own lines, moved to a new column, if it holds comments.
func (f *formatter) formatValue(n *yaml.Node, shift, indent int) string {
	at := f.span(n)
	written := string(f.file.Src[at.From:at.To])
	if n.Kind == yaml.ScalarNode || !strings.Contains(written, "\n") || !strings.Contains(written, "#") {
		return f.formatInline(n)
	}
	lines := strings.Split(written, "\n")
	for i, line := range lines[1:] {
		text := strings.TrimLeft(line, " ")
		lines[i+1] = strings.TrimRight(strings.Repeat(" ", max(len(line)-len(text)+shift, indent+1))+text, " \r")
	}
	return formatProperties(n) + strings.Join(lines, "\n")
}

// formatProperties returns the anchor and the tag of a node, each followed by a space.
func formatProperties(n *yaml.Node) (out string) {
	if n.Anchor != "" {
		out = "&" + n.Anchor + " "
	}
	if n.Style&yaml.TaggedStyle != 0 {
		out += n.ShortTag() + " "
	}
	return out
}

// formatInline returns a value on one line.
func (f *formatter) formatInline(n *yaml.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.AliasNode:
		return "*" + n.Value
	case yaml.ScalarNode:
		return strings.TrimSpace(formatProperties(n) + f.formatScalar(n))
	case yaml.SequenceNode:
		for _, item := range n.Content {
			parts = append(parts, f.formatInline(item))
		}
		return formatProperties(n) + "[" + strings.Join(parts, ", ") + "]"
	}
	for i := 0; i < len(n.Content); i += 2 {
		parts = append(parts, f.formatInline(n.Content[i])+": "+f.formatInline(n.Content[i+1]))
	}
	return formatProperties(n) + "{" + strings.Join(parts, ", ") + "}"
}

// formatScalar returns a scalar on one line, as written but without unnecessary quotes.
func (f *formatter) formatScalar(n *yaml.Node) string {
	quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
	if quoted && n.Tag == "!!str" && n.Anchor == "" && isPlainText(n.Value) {
		return n.Value
	}
	at := f.span(n)
	written := string(f.file.Src[at.From:at.To])
	switch {
	case !strings.ContainsAny(written, "\n"):
		return written
	case n.Style&yaml.SingleQuotedStyle != 0 && !strings.Contains(n.Value, "\n"):
		return "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
	case !quoted && !strings.Contains(n.Value, "\n"):
		return n.Value
	}
	return strconv.Quote(n.Value)
}

var plainText = lazyregexp.New(`^[A-Za-z_][A-Za-z_0-9 ./\-+*<>=()]*$`)

// isPlainText reports whether a text needs no quotes anywhere in YAML.
func isPlainText(text string) bool {
	return plainText.Get().MatchString(text) && strings.TrimSpace(text) == text && !hasWord("false no null off on true yes y n", strings.ToLower(text))
}

// formatBlockText returns the head of a literal or folded text, and its lines with a new indentation.
func (f *formatter) formatBlockText(n *yaml.Node, indent string) (head string, lines []string) {
	src, at := f.file.Src, f.span(n)
	head = string(src[at.From])
	text := strings.TrimRight(n.Value, "\n")
	breaks := len(n.Value) - len(text)
	first := strings.TrimLeft(text, "\n")
	more := len(first) - len(strings.TrimLeft(first, " ")) // the additional indentation of the first line
	if more > 0 {
		head += "2"
	}
	if breaks == 0 {
		head += "-"
	} else if breaks > 1 || text == "" {
		head += "+"
	}
	if text == "" {
		return head, make([]string, breaks)
	}
	old := -1 // the written indentation, once known
	for _, line := range strings.Split(string(src[lineEnd(src, at.From):at.To]), "\n")[1:] {
		line = strings.TrimSuffix(line, "\r")
		bare := strings.TrimLeft(line, " ")
		if old < 0 && bare != "" {
			old = len(line) - len(bare) - more
		}
		if old < 0 || bare == "" && len(line) <= old {
			lines = append(lines, "")
		} else {
			lines = append(lines, indent+line[min(old, len(line)):])
		}
	}
	return head, append(lines, make([]string, max(breaks-1, 0))...)
}
