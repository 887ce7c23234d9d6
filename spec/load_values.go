// Conversion of nodes of the YAML library to values with positions, by the core schema of YAML 1.2.

package spec

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/internal/lazyregexp"
)

// converter turns the nodes of one document into values.
type converter struct {
	reporter
	above   int   // the lines before the piece that is read
	columns []int // the offsets of the characters of a line
	line    int   // the number of that line

	depth    int
	anchored int        // the anchors around the node
	alias    *yaml.Node // the outermost alias around the node, or nil
	expanded int        // the number of values that aliases and merge keys add
	refused  bool       // the file exceeds a limit: the tree is not complete
}

// offset converts a line and column of the library, in characters, to an offset.
func (c *converter) offset(line, column int) int {
	src := c.file.Src
	line += c.above
	switch {
	case line < 1 || line > len(c.file.lines):
		return len(src)
	case line != c.line:
		c.line, c.columns = line, c.columns[:0]
		start := c.file.lines[line-1]
		if line == 1 && bytes.HasPrefix(src, []byte(byteOrderMark)) {
			start = len(byteOrderMark) // the library does not count it
		}
		for i := range string(src[start:lineEnd(src, start)]) {
			c.columns = append(c.columns, start+i)
		}
	}
	if column > len(c.columns) {
		return lineEnd(src, c.file.lines[line-1])
	}
	return c.columns[column-1]
}

// convert reads a node into a zero Value and returns the offset at which the node ends in the text.
func (c *converter) convert(n *yaml.Node, v *Value) (end int) {
	if c.alias != nil {
		c.countRepeated(n, 1)
	}
	if c.refused {
		v.Kind = Null
		return 0
	}
	if n.Kind == yaml.AliasNode {
		outer := c.alias
		c.alias = cmp.Or(outer, n)
		c.convert(n.Alias, v) // the depth bounds an alias inside its own value
		c.alias = outer
		return c.aliasSpan(n).To
	}
	if n.Anchor != "" {
		c.anchored++
		defer func() { c.anchored-- }()
	}
	at := c.skipProperties(n, c.offset(n.Line, n.Column))
	c.depth++
	switch {
	case c.depth > maxDepth && n.Kind != yaml.ScalarNode:
		c.refused = true
		c.diags = append(c.diags, newDepthFinding(c.file, at))
	case n.Kind == yaml.ScalarNode:
		c.readScalar(n, at, v)
	case n.Kind == yaml.SequenceNode:
		c.readList(n, at, v)
	case c.readBareTemplate(n, at, v):
	default:
		c.readMap(n, at, v)
	}
	c.depth--
	if c.anchored == 0 { // no alias needs the node again
		n.Content = nil // frees memory, because the tree of values replaces the nodes
	}
	return v.Span.To
}

// countRepeated counts the values that aliases add, and reports a file that adds too many for later walks.
func (c *converter) countRepeated(n *yaml.Node, values int) {
	if c.expanded += values; c.expanded > maxExpanded && !c.refused {
		c.refused = true
		c.report("syntax", c.aliasSpan(cmp.Or(c.alias, n)), "aliases and merge keys repeat more than %d values; at most %d are allowed", maxExpanded, maxExpanded)
	}
}

// aliasSpan returns the span of an alias.
func (c *converter) aliasSpan(n *yaml.Node) Span {
	at := c.offset(n.Line, n.Column)
	return Span{at, min(at+1+len(n.Value), len(c.file.Src))}
}

var (
	tagOrAnchor  = lazyregexp.New(`^(?:&[\w-]*|!\S*)`)
	whiteSpace   = lazyregexp.New(`^(?:\s+(?:#[^\n]*)?)*`)      // with comments
	closeBracket = lazyregexp.New(`^(?:\s|#[^\n]*|[,:])*[\]}]`) // after the last part of a collection
)

// skipProperties returns the offset of a node's content, after its tag and anchor.
func (c *converter) skipProperties(n *yaml.Node, at int) int {
	src := c.file.Src
	empty := n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&^yaml.TaggedStyle == 0
	for at < len(src) && (src[at] == '&' || src[at] == '!') {
		at += len(tagOrAnchor.Get().Find(src[at:]))
		if empty {
			break
		}
		at += len(whiteSpace.Get().Find(src[at:]))
	}
	return at
}

func (c *converter) readList(n *yaml.Node, at int, v *Value) {
	end := at
	v.Kind, v.Items = List, make([]Value, len(n.Content))
	for i, child := range n.Content {
		end = max(end, c.convert(child, &v.Items[i]))
	}
	v.Span = Span{at, c.findCollectionEnd(n, at, end)}
	c.checkTag(n, v, "!!seq")
}

// findCollectionEnd returns the end of a list or map: after its closing bracket, or else of its last part.
func (c *converter) findCollectionEnd(n *yaml.Node, start, end int) int {
	src := c.file.Src
	if n.Style&yaml.FlowStyle == 0 || start >= len(src) || src[start] != '[' && src[start] != '{' {
		return end
	}
	if end == start {
		end++
	}
	return end + len(closeBracket.Get().Find(src[end:]))
}

// checkTag reports a tag that does not fit the value. A tag before a text is probably the ! of an
// expression, so it becomes part of the text.
func (c *converter) checkTag(n *yaml.Node, v *Value, want string) {
	if n.Style&yaml.TaggedStyle == 0 || n.Tag == want {
		return
	}
	from := c.offset(n.Line, n.Column)
	whole := Span{from, max(v.Span.To, from+len(n.Tag))}
	written := string(c.file.Src[from:min(whole.To, len(c.file.Src))])
	if want == "" && strings.HasPrefix(written, "!") && !strings.HasPrefix(n.Tag, "!!") && !strings.ContainsAny(written, "\r\n") {
		v.Text = Text{Value: written, Span: whole, source: c.file}
		c.report("syntax", whole, "! begins a tag in YAML; put the text in quotes: %q", written)
		return
	}
	c.report("syntax", v.Span, "the tag %q is not supported here; allowed are !!bool, !!float, !!int, !!map, !!null, !!seq, !!str where they fit", n.Tag)
}

func (c *converter) readMap(n *yaml.Node, at int, v *Value) {
	const few = 16
	fields, merge, end := make([]Field, 0, len(n.Content)/2), -1, at
	var indices map[string]int // of fields by name, if there are many
	if cap(fields) > few {
		indices = make(map[string]int, cap(fields))
	}
	var k Value
	var f Field // outside the loop, because both escape to the heap
	for i := 0; i+1 < len(n.Content) && !c.refused; i += 2 {
		k, f = Value{}, Field{}
		key, child := n.Content[i], n.Content[i+1]
		c.convert(key, &k)
		end = max(end, c.convert(child, &f.Value))
		f.Key = k.Text
		var seen *Field
		if i, isIndexed := indices[k.Text.Value]; isIndexed {
			seen = &fields[i]
		} else if indices == nil {
			seen = findField(fields, k.Text.Value)
		}
		switch {
		case !k.IsScalar():
			c.report("syntax", k.Span, "a map key must be a scalar; found %s", describeValue(&k))
			continue
		case k.isAbsent():
			c.report("syntax", k.Span, "a map key is empty; write \"\" for a key without letters")
			continue
		case seen != nil:
			c.report("duplicate-key", k.Span, "the key %q stands twice in this map", k.Text.Value)
			c.addRelated(seen.Key.Span, "first here")
			continue
		case key.Kind == yaml.ScalarNode && key.Tag == "!!merge":
			merge = len(fields)
		case n.Style&yaml.FlowStyle != 0 && f.Value.isAbsent() && key.Style == 0 && strings.ContainsAny(key.Value, ":)]"):
			c.report("syntax", k.Span, "%s has no value: a colon needs a space behind it, and a text with a comma needs quotes", quoteShort(key.Value))
			continue
		}
		if indices != nil {
			indices[f.Key.Value] = len(fields)
		}
		fields = append(fields, f)
	}
	v.Kind, v.Fields = Map, fields
	if merge >= 0 {
		v.Fields = c.mergeMaps(n, fields, merge)
	}
	v.Span = Span{at, c.findCollectionEnd(n, at, end)}
	c.checkTag(n, v, "!!map")
}

// mergeMaps replaces the merge key at an index by those entries of the merged maps that the map lacks.
func (c *converter) mergeMaps(n *yaml.Node, fields []Field, at int) (out []Field) {
	var merged []Field
	for _, from := range fields[at].Value.OneOrAll() {
		if from.Kind != Map {
			c.report("syntax", from.Span, "a merge key takes a map or a list of maps; found %s", describeValue(&from))
		}
		c.countRepeated(n, len(from.Fields))
		merged = append(merged, from.Fields...)
	}
	own := map[string]*Field{}
	for i := range fields {
		own[fields[i].Key.Value] = &fields[i]
	}
	taken := map[string]bool{}
	for _, f := range slices.Concat(fields[:at], merged, fields[at+1:]) {
		if name := f.Key.Value; !taken[name] {
			taken[name] = true
			out = append(out, *cmp.Or(own[name], &f))
		}
	}
	return out
}

// isAbsent reports whether the value is null because the file has no text for it.
func (v *Value) isAbsent() bool { return v.Kind == Null && v.Text.Value == "" }

// readBareTemplate reports a template without quotes, {{ name }}, which YAML reads as a map in a map, and
// reads it as a text. It returns false for other maps.
func (c *converter) readBareTemplate(n *yaml.Node, at int, v *Value) bool {
	if n.Style&yaml.FlowStyle == 0 || len(n.Content) != 2 || n.Content[0].Kind != yaml.MappingNode || !bytes.HasPrefix(c.file.Src[at:], []byte("{{")) {
		return false
	}
	inside, _, closed := strings.Cut(string(c.file.Src[at:]), "}}")
	if closed {
		text := inside + "}}"
		v.Kind, v.Text = String, Text{Value: text, Span: Span{at, at + len(text)}, source: c.file}
		c.report("syntax", v.Span, "{{ begins a map in YAML; put the text in quotes: %q", text)
	}
	return closed
}

// readScalar reads a scalar whose content starts at an offset.
func (c *converter) readScalar(n *yaml.Node, at int, v *Value) {
	v.Kind = String
	v.Text = Text{Value: n.Value, Span: Span{at, c.scalarEnd(n, at)}, source: c.file}
	problem := ""
	if n.Style == 0 {
		v.Kind, v.bits, problem = parsePlainScalar(n.Value)
	} else if n.Style&yaml.TaggedStyle != 0 {
		problem = c.readTagged(n, v)
	}
	if problem != "" {
		c.report("invalid-value", v.Span, "%q %s", n.Value, problem)
	}
}

// readTagged reads a scalar with a tag. problem says why it does not fit the tag.
func (c *converter) readTagged(n *yaml.Node, v *Value) (problem string) {
	kinds := map[string]ValueKind{"!!null": Null, "!!bool": Bool, "!!int": Int, "!!float": Float, "!!str": String, "!!timestamp": String}
	want, known := kinds[n.Tag]
	if !known {
		c.checkTag(n, v, "")
	}
	if !known || want == String {
		return ""
	}
	v.Kind, v.bits, problem = parsePlainScalar(n.Value)
	if v.Kind == Int && want == Float {
		v.Kind, v.bits = Float, math.Float64bits(float64(int(v.bits)))
	}
	if v.Kind != want {
		v.Kind, problem = String, "is not a value of the tag "+n.Tag
	}
	return problem
}

// scalarEnd returns the offset at which a scalar ends in the file.
func (c *converter) scalarEnd(n *yaml.Node, at int) int {
	src := c.file.Src
	switch {
	case at >= len(src):
		return len(src)
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return closeQuote(src, at)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return alignScalar(src, at, n.Value).offset(len(strings.TrimRight(n.Value, "\n")))
	case bytes.HasPrefix(src[at:], []byte(n.Value)):
		return at + len(n.Value)
	}
	if s := alignScalar(src, at, n.Value); !s.wrong {
		return s.offset(len(n.Value))
	}
	return at
}

var floatPattern = lazyregexp.New(`^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

// parsePlainScalar reads an unquoted scalar: null, true, false, a whole number (decimal, 0x, 0o), a floating
// point number. Anything else is a string, such as a date or yes. bits is the field of Value. problem
// is set for a number that JSON can't hold.
func parsePlainScalar(s string) (kind ValueKind, bits uint64, problem string) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return Null, 0, ""
	case "true", "True", "TRUE":
		return Bool, 1, ""
	case "false", "False", "FALSE":
		return Bool, 0, ""
	}
	if strings.IndexByte("0123456789+-.", s[0]) < 0 {
		return String, 0, ""
	}
	if name := strings.ToLower(strings.TrimLeft(s[:1], "+-") + s[1:]); name == ".inf" || name == ".nan" {
		return Float, 0, "is not a number that JSON can hold; expected a finite number"
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Int, uint64(n), ""
	}
	if (strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0o")) && !strings.Contains(s, "_") {
		if n, err := strconv.ParseUint(s, 0, 64); err == nil && n <= math.MaxInt64 {
			return Int, n, ""
		} else if err == nil {
			return Float, math.Float64bits(float64(n)), ""
		}
	}
	if !floatPattern.Get().MatchString(s) {
		return String, 0, ""
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return Float, 0, "is too large; expected a number within 64-bit floating point"
	}
	return Float, math.Float64bits(f), ""
}

// describeValue describes a value in a message.
func describeValue(v *Value) string {
	switch v.Kind {
	case List:
		return "a list"
	case Map:
		return "a map"
	case Null:
		return "no value"
	case String:
		return "the text " + quoteShort(v.Text.Value)
	case Bool:
		return v.Text.Value
	}
	return "the number " + v.Text.Value
}

// quoteShort quotes a text, shortened to 40 characters.
func quoteShort(s string) string {
	const most = 40
	if runes := []rune(s); len(s) > most && len(runes) > most {
		s = strings.TrimSpace(string(runes[:most])) + "…"
	}
	return fmt.Sprintf("%q", s)
}
