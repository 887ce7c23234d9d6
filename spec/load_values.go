// From the YAML library's nodes to values with spans: positions, aliases, merge keys,
// duplicate keys, tags.

package spec

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// converter turns the nodes of one document into values.
type converter struct {
	reporter
	source  *scalar
	lines   []int // offsets of the lines as YAML counts them
	ascii   bool
	columns []int // offsets of the characters of a line, unless the file is ASCII
	line    int   // that line

	anchors  map[*yaml.Node]*anchored
	depth    int
	expanded int
	refused  bool // a limit was hit: the tree is not complete
}

// anchored is a value that aliases repeat; size is its number of values, 0
// while it is being read.
type anchored struct {
	value Value
	size  int
}

func newConverter(file *File) *converter {
	c := &converter{
		reporter: reporter{file: file}, source: &scalar{src: file.Src}, lines: []int{0},
		ascii: bytes.IndexFunc(file.Src, func(r rune) bool { return r >= utf8.RuneSelf }) < 0,
	}
	for at := lineEnd(file.Src, 0); at < len(file.Src); at = lineEnd(file.Src, at) {
		at += lineBreak(file.Src, at)
		c.lines = append(c.lines, at)
	}
	return c
}

// offset is the place in the file of a line and column (in characters) of the library.
func (c *converter) offset(line, column int) int {
	src := c.file.Src
	switch {
	case line < 1 || line > len(c.lines):
		return len(src)
	case c.ascii:
		return min(c.lines[line-1]+column-1, len(src))
	case line != c.line:
		c.line, c.columns = line, c.columns[:0]
		start := c.lines[line-1]
		if line == 1 && bytes.HasPrefix(src, []byte(byteOrderMark)) {
			start = len(byteOrderMark) // the library does not count the mark
		}
		for i := range string(src[start:lineEnd(src, start)]) {
			c.columns = append(c.columns, start+i)
		}
	}
	if column > len(c.columns) {
		return lineEnd(src, c.lines[line-1])
	}
	return c.columns[column-1]
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

// alias repeats the anchored value. The parts are shared, so a bomb costs nothing here;
// the limit is for those who walk the tree.
func (c *converter) alias(n *yaml.Node, v *Value) int {
	at := c.offset(n.Line, n.Column)
	span := Span{at, min(at+1+len(n.Value), len(c.file.Src))}
	entry := c.anchors[n.Alias]
	if entry == nil || entry.size == 0 {
		c.refused = true
		c.report("syntax", span, "the alias %q stands inside the value that it repeats", "*"+n.Value)
		v.Kind, v.Span = Null, span
		return 1
	}
	c.expanded += entry.size
	if c.expanded > maxExpanded {
		c.refused = true
		c.report("syntax", span, "aliases repeat more than %d values; at most %d are allowed", maxExpanded, maxExpanded)
	}
	*v = entry.value
	return entry.size
}

// YAML's white space and comments, and with them: a tag or anchor, and the closing
// bracket of a collection behind its last part.
const (
	blanks  = `[ \t\r\n\x{85}\x{2028}\x{2029}]`
	remark  = `#[^\r\n\x{85}\x{2028}\x{2029}]*`
	between = `(?:` + blanks + `+(?:` + remark + `)?)*`
)

var (
	property = regexp.MustCompile(`^(?:&[\w-]*|![^ \t\r\n\x{85}\x{2028}\x{2029}]*)`)
	gap      = regexp.MustCompile(`^` + between)
	closing  = regexp.MustCompile(`^(?:` + blanks + `|` + remark + `|[,:])*[\]}]`)
)

// skipProperties moves from a node's tag and anchor to its content.
func (c *converter) skipProperties(n *yaml.Node, at int) int {
	src := c.file.Src
	empty := n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&^yaml.TaggedStyle == 0
	for at < len(src) && (src[at] == '&' || src[at] == '!') {
		at += len(property.Find(src[at:]))
		if empty {
			break
		}
		at += len(gap.Find(src[at:]))
	}
	return at
}

func (c *converter) list(n *yaml.Node, at int, v *Value) (size int) {
	size, end := 1, at
	items := make([]Value, len(n.Content))
	for i, item := range n.Content {
		size += c.convert(item, &items[i])
		end = max(end, c.endOf(item, &items[i]))
	}
	v.Kind, v.Items = List, items
	v.Span = Span{at, c.close(n, at, end)}
	c.checkTag(n, v, "!!seq")
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
func (c *converter) close(n *yaml.Node, start, end int) int {
	src := c.file.Src
	if n.Style&yaml.FlowStyle == 0 || start >= len(src) || src[start] != '[' && src[start] != '{' {
		return end
	}
	if end == start {
		end++
	}
	return end + len(closing.Find(src[end:]))
}

// checkTag reports a tag that is not the one of a value's kind. One that touches a text is
// likely to be the ! of an expression: it becomes a part of the text.
func (c *converter) checkTag(n *yaml.Node, v *Value, want string) {
	if n.Style&yaml.TaggedStyle == 0 || n.Tag == want {
		return
	}
	from := c.offset(n.Line, n.Column)
	whole := Span{from, max(v.Span.To, from+len(n.Tag))}
	if written := string(c.file.Src[from:min(whole.To, len(c.file.Src))]); want == "" && strings.HasPrefix(written, "!") && !strings.HasPrefix(n.Tag, "!!") && (from < v.Span.To || n.Value == "") && !strings.ContainsAny(written, "\r\n") {
		v.Text = Text{Value: written, Span: whole, source: c.source}
		c.report("syntax", whole, "! begins a tag in YAML; put the text in quotes: %q", written)
		return
	}
	c.report("syntax", v.Span, "the tag %q is not supported here; allowed are !!bool, !!float, !!int, !!map, !!null, !!seq, !!str where they fit", n.Tag)
}

// fieldSet is a map under construction.
type fieldSet struct {
	fields []Field
	index  map[string]int  // of the fields, by key
	merged map[string]bool // keys that came by a merge, which a written key replaces
}

func (s *fieldSet) add(f Field) {
	s.index[f.Key.Value] = len(s.fields)
	s.fields = append(s.fields, f)
}

// mapping reads a map. The keys of a merge (<<) stand where the merge stands;
// written keys win over merged ones, and earlier merged maps over later ones.
func (c *converter) mapping(n *yaml.Node, at int, v *Value) (size int) {
	set := fieldSet{fields: make([]Field, 0, len(n.Content)/2), index: make(map[string]int, len(n.Content)/2)}
	size, end := 1, at
	var merge *Span // of the first
	for i := 0; i+1 < len(n.Content); i += 2 {
		var k Value
		var f Field
		key, child := n.Content[i], n.Content[i+1]
		c.convert(key, &k)
		size += c.convert(child, &f.Value) + 1
		end = max(end, c.endOf(child, &f.Value))
		switch f.Key = k.Text; {
		case c.refused:
		case key.Kind != yaml.ScalarNode || key.Tag != "!!merge":
			c.unspaced(key, &f)
			c.enter(&set, &k, f)
		case merge != nil:
			c.repeated(k.Span, *merge, "the key \"<<\" stands twice in this map; merge several maps by one: <<: [*a, *b]")
			c.merge(&set, &f.Value)
		default:
			merge = &k.Span
			c.merge(&set, &f.Value)
		}
	}
	if n.Style&yaml.FlowStyle != 0 {
		set.fields = c.rejoin(set.fields)
	}
	v.Kind, v.Fields = Map, set.fields
	v.Span = Span{at, c.close(n, at, end)}
	c.checkTag(n, v, "!!map")
	return size
}

// repeated reports a key that stands twice in a map.
func (c *converter) repeated(at, first Span, message string) {
	c.report("duplicate-key", at, "%s", message)
	c.relate(first, "first here")
}

// enter adds an entry, unless its key is wrong or was there before.
func (c *converter) enter(set *fieldSet, k *Value, f Field) {
	name := f.Key.Value
	i, found := set.index[name]
	switch {
	case !k.IsScalar():
		c.report("syntax", k.Span, "a map key must be a scalar; found %s", describe(k))
	case k.Kind == Null && k.Text.Value == "":
		c.report("syntax", k.Span, "a map key is empty; write \"\" for a key without letters")
	case !found:
		set.add(f)
	case set.merged[name]:
		set.fields[i] = f
		delete(set.merged, name)
	default:
		c.repeated(k.Span, set.fields[i].Key.Span, fmt.Sprintf("the key %q stands twice in this map", name))
	}
}

// merge adds the entries of a map, or of each of a list of maps, that are not there yet.
func (c *converter) merge(set *fieldSet, from *Value) {
	switch from.Kind {
	case Map:
		if c.expanded += len(from.Fields); c.expanded > maxExpanded && !c.refused {
			c.refused = true
			c.report("syntax", from.Span, "merge keys repeat more than %d values; at most %d are allowed", maxExpanded, maxExpanded)
			return
		}
		if set.merged == nil {
			set.merged = map[string]bool{}
		}
		for _, f := range from.Fields {
			if _, found := set.index[f.Key.Value]; !found {
				set.add(f)
				set.merged[f.Key.Value] = true
			}
		}
	case List:
		for i := range from.Items {
			if from.Items[i].Kind == List {
				c.report("syntax", from.Items[i].Span, "a merge key takes a map or a list of maps; found a list in the list")
				continue
			}
			c.merge(set, &from.Items[i])
		}
	default:
		c.report("syntax", from.Span, "a merge key takes a map or a list of maps; found %s", describe(from))
	}
}

// unspaced reports a key of a map in brackets that has its value in it, as in
// {kind:pass}, and takes it apart.
func (c *converter) unspaced(key *yaml.Node, f *Field) {
	name, value, glued := strings.Cut(key.Value, ":")
	value = strings.TrimFunc(value, isOdd)
	if !glued || key.Style != 0 || !f.Value.isAbsent() || !isPlainWords(value) || value[0] == '/' || !isIdentifier(name) {
		return
	}
	span := f.Key.Span
	c.report("syntax", span, "a colon needs a space behind it: %s: %s", name, value)
	c.suggest(name + ": " + value)
	at := max(span.From+len(name), span.To-len(value)-1)
	f.Key = Text{Value: name, Span: Span{span.From, span.From + len(name)}}
	f.Value = Value{Kind: String, Text: Text{Value: value, Span: Span{min(at+1, span.To), span.To}}}
}

// isAbsent reports whether nothing stands where the value would.
func (v *Value) isAbsent() bool { return v.Kind == Null && v.Text.Value == "" }

// rejoin reports values of a map in brackets that a comma has cut off, as in
// {delay: min(delay * 2, 5)}, and puts them together again.
func (c *converter) rejoin(fields []Field) []Field {
	var out []Field
	for _, f := range fields {
		last := len(out) - 1
		if last < 0 || !f.Value.isAbsent() || f.Key.Span.To == f.Key.Span.From || !c.isCutOff(&out[last].Value) {
			out = append(out, f)
			continue
		}
		v := &out[last].Value
		v.Span.To = f.Key.Span.To
		v.Text.Value = string(c.file.Src[v.Span.From:v.Span.To])
		if !c.isCutOff(v) {
			quoted := `"` + v.Text.Value + `"`
			if strings.ContainsAny(v.Text.Value, `"\`) {
				quoted = "'" + strings.ReplaceAll(v.Text.Value, "'", "''") + "'"
			}
			c.report("syntax", v.Span, "a comma ends a text between { and }; put the text in quotes: %s", quoted)
			c.suggest(quoted)
		}
	}
	return out
}

// isCutOff reports whether a text without quotes lacks a closing bracket.
func (c *converter) isCutOff(v *Value) bool {
	count := func(s string) int { return strings.Count(v.Text.Value, s) }
	at := v.Span.From
	return v.Kind == String && at < len(c.file.Src) && strings.IndexByte(`"'|>`, c.file.Src[at]) < 0 &&
		count("(")+count("[") > count(")")+count("]")
}

// unquoted reports a template without quotes, {{ name }}, which YAML takes for
// a map in a map, and reads it as the template.
func (c *converter) unquoted(n *yaml.Node, at int, v *Value) bool {
	src := c.file.Src
	if n.Style&yaml.FlowStyle == 0 || len(n.Content) != 2 || n.Content[0].Kind != yaml.MappingNode || !bytes.HasPrefix(src[at:], []byte("{{")) {
		return false
	}
	end := bytes.Index(src[at:], []byte("}}"))
	if end < 0 {
		return false
	}
	v.Kind, v.Span = String, Span{at, at + end + 2}
	v.Text = Text{Value: string(src[v.Span.From:v.Span.To]), Span: v.Span, source: c.source}
	c.report("syntax", v.Span, "{{ begins a map in YAML; put the text in quotes: %q", v.Text.Value)
	return true
}

// scalar reads a scalar whose content starts at an offset.
func (c *converter) scalar(n *yaml.Node, at int, v *Value) {
	v.Kind = String
	v.Text = Text{Value: n.Value, Span: Span{at, c.scalarEnd(n, at)}, source: c.source}
	problem := ""
	want, known := map[string]ValueKind{"!!null": Null, "!!bool": Bool, "!!int": Int, "!!float": Float, "!!str": String, "!!timestamp": String}[n.Tag]
	switch {
	case n.Style&yaml.TaggedStyle == 0:
		if n.Style == 0 {
			v.Kind, v.bits, problem = resolvePlain(n.Value)
		}
	case !known:
		c.checkTag(n, v, "")
	case want != String:
		v.Kind, v.bits, problem = resolvePlain(n.Value)
		if v.Kind == Int && want == Float {
			v.Kind, v.bits = Float, math.Float64bits(float64(int(v.bits)))
		}
		if v.Kind != want {
			v.Kind, problem = String, "is no value of the tag "+n.Tag
		}
	}
	if problem != "" {
		c.report("invalid-value", v.Span, "%q %s", n.Value, problem)
	}
}

// scalarEnd finds where a scalar ends in the file.
func (c *converter) scalarEnd(n *yaml.Node, at int) int {
	src := c.file.Src
	switch {
	case at >= len(src):
		return len(src)
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return closeQuote(src, at)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return spell(src, at, n.Value).end()
	case bytes.HasPrefix(src[at:], []byte(n.Value)):
		return at + len(n.Value)
	}
	if s := spell(src, at, n.Value); !s.wrong {
		return s.place(len(n.Value))
	}
	return at
}
