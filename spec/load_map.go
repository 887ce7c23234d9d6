// Maps and scalars of a document: keys, duplicates, merge keys, ends of scalars.

package spec

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// fieldSet is a map under construction.
type fieldSet struct {
	fields []Field
	index  map[string]int  // of the fields, when they are many
	merged map[string]bool // keys that came by a merge, which a written key replaces
}

// find returns the index of a key, or -1.
func (s *fieldSet) find(name string) int {
	const few = 12
	if len(s.fields) <= few {
		return slices.IndexFunc(s.fields, func(f Field) bool { return f.Key.Value == name })
	}
	if s.index == nil {
		s.index = make(map[string]int, cap(s.fields))
	}
	for i := len(s.index); i < len(s.fields); i++ {
		s.index[s.fields[i].Key.Value] = i
	}
	if i, ok := s.index[name]; ok {
		return i
	}
	return -1
}

// mapping reads a map. The keys of a merge (<<) stand where the merge stands;
// written keys win over merged ones, and earlier merged maps over later ones.
func (c *converter) mapping(n *yaml.Node, at int, v *Value) (size int) {
	set := fieldSet{fields: make([]Field, 0, len(n.Content)/2)}
	size, end := 1, at
	var merge *Span // of the first
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, child := n.Content[i], n.Content[i+1]
		count, to := 0, 0
		if isMerge(key) {
			var from, word Value
			c.convert(key, &word)
			if merge = c.mergesOnce(merge, word.Span); c.refused {
				break
			}
			count = c.convert(child, &from)
			c.merge(&set, &from)
			to = c.endOf(child, &from)
		} else {
			count, to = c.field(&set, key, child)
		}
		size, end = size+count+1, max(end, to)
	}
	if n.Style&yaml.FlowStyle != 0 {
		set.fields = c.rejoin(set.fields)
	}
	v.Kind, v.Fields = Map, set.fields
	v.Span = Span{at, c.close(n, at, end, '{', '}')}
	c.checkTag(n, v.Span, "!!map")
	return size
}

// mergesOnce reports a second merge in a map: YAML has one, of a list of maps.
func (c *converter) mergesOnce(first *Span, at Span) *Span {
	if first == nil {
		return &at
	}
	c.diags = append(c.diags, Diagnostic{
		File: c.file, Rule: "duplicate-key", Severity: Error, Span: at,
		Message: "the key \"<<\" stands twice in this map; merge several maps by one: <<: [*a, *b]",
		Related: []Related{{File: c.file, Span: *first, Message: "first here"}},
	})
	return first
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Tag == "!!merge"
}

// field reads one entry; a key that was there before is reported and left out.
// end is where the value ends in the text.
func (c *converter) field(set *fieldSet, key, child *yaml.Node) (size, end int) {
	var k Value
	c.convert(key, &k)
	f := Field{Key: k.Text}
	size = c.convert(child, &f.Value)
	c.unspaced(key, child, &k, &f)
	if c.enters(set, &k, &f) {
		set.fields = append(set.fields, f)
	}
	return size, c.endOf(child, &f.Value)
}

// unspaced reports a key of a map in brackets that has its value in it, as in
// {kind:pass}, and takes it apart.
func (c *converter) unspaced(key, child *yaml.Node, k *Value, f *Field) {
	if child.Value != "" || child.Kind != yaml.ScalarNode || child.Style != 0 || child.Tag != "!!null" || key.Style != 0 {
		return
	}
	name, value, glued := strings.Cut(key.Value, ":")
	value = strings.TrimFunc(value, func(r rune) bool { return findOdd(r) != nil })
	if !glued || !isPlainWords(value) || value[0] == '/' || !isIdentifier(name) {
		return
	}
	c.report("syntax", k.Span, fmt.Sprintf("a colon needs a space behind it: %s: %s", name, value))
	c.diags[len(c.diags)-1].Suggestion = name + ": " + value
	at := max(k.Span.From+len(name), k.Span.To-len(value)-1)
	f.Key = Text{Value: name, Span: Span{k.Span.From, k.Span.From + len(name)}}
	f.Value = Value{Kind: String, Text: Text{Value: value, Span: Span{min(at+1, k.Span.To), k.Span.To}}}
}

// enters reports whether an entry is to be added, and what is wrong with its key.
func (c *converter) enters(set *fieldSet, k *Value, f *Field) bool {
	switch {
	case c.refused:
		return false
	case !k.IsScalar():
		c.report("syntax", k.Span, "a map key must be a scalar; found "+describe(k))
		return false
	case k.Kind == Null && k.Text.Value == "":
		c.report("syntax", k.Span, "a map key is empty; write \"\" for a key without letters")
		return false
	}
	name := f.Key.Value
	switch i := set.find(name); {
	case i < 0:
		return true
	case set.merged[name]:
		set.fields[i] = *f
		delete(set.merged, name)
	default:
		c.diags = append(c.diags, Diagnostic{
			File: c.file, Rule: "duplicate-key", Severity: Error, Span: k.Span,
			Message: fmt.Sprintf("the key %q stands twice in this map", name),
			Related: []Related{{File: c.file, Span: set.fields[i].Key.Span, Message: "first here"}},
		})
	}
	return false
}

// merge adds the entries of a map, or of each of a list of maps, that are not there yet.
func (c *converter) merge(set *fieldSet, from *Value) {
	switch from.Kind {
	case Map:
		if c.expanded += len(from.Fields); c.expanded > maxExpanded && !c.refused {
			c.refused = true
			c.report("syntax", from.Span, fmt.Sprintf("merge keys repeat more than %d values; at most %d are allowed", maxExpanded, maxExpanded))
			return
		}
		for _, f := range from.Fields {
			if set.find(f.Key.Value) < 0 {
				set.fields = append(set.fields, f)
				if set.merged == nil {
					set.merged = map[string]bool{}
				}
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
		if !c.refused {
			c.report("syntax", from.Span, "a merge key takes a map or a list of maps; found "+describe(from))
		}
	}
}

// scalar reads a scalar whose content starts at an offset.
func (c *converter) scalar(n *yaml.Node, at int, v *Value) {
	v.Kind = String
	v.Text = Text{Value: n.Value, Span: Span{at, c.scalarEnd(n, at)}, source: c.source}
	problem := ""
	tagged := n.Style&yaml.TaggedStyle != 0
	quoted := n.Style&^yaml.TaggedStyle != 0
	switch {
	case tagged:
		problem = c.tagged(n, v)
	case !quoted:
		v.Kind, v.bits, problem = resolvePlain(n.Value)
	}
	if problem != "" {
		c.report("invalid-value", v.Span, fmt.Sprintf("%q %s", n.Value, problem))
	}
}

// tagged resolves a scalar with an explicit tag of YAML's own.
func (c *converter) tagged(n *yaml.Node, v *Value) (problem string) {
	want := map[string]ValueKind{"!!null": Null, "!!bool": Bool, "!!int": Int, "!!float": Float}[n.Tag]
	if n.Tag == "!!str" || n.Tag == "!!timestamp" {
		return ""
	}
	if want == 0 {
		c.negation(n, v)
		return ""
	}
	kind, bits, problem := resolvePlain(n.Value)
	if kind == Int && want == Float {
		kind, bits = Float, math.Float64bits(float64(int(bits)))
	}
	if kind != want {
		return "is no value of the tag " + n.Tag
	}
	v.Kind, v.bits = kind, bits
	return problem
}

// negation reports a tag that is none of YAML's own. One that touches a text is
// likely to be the ! of an expression, and read as such.
func (c *converter) negation(n *yaml.Node, v *Value) {
	from := c.offset(n.Line, n.Column)
	if strings.HasPrefix(n.Tag, "!!") || from >= v.Span.To && n.Value != "" || c.file.Src[from] != '!' {
		c.checkTag(n, v.Span, "")
		return
	}
	whole := Span{from, max(v.Span.To, from+len(n.Tag))}
	if bytes.ContainsAny(c.file.Src[whole.From:whole.To], "\r\n") {
		c.checkTag(n, v.Span, "") // a text on a line of its own has a tag above it
		return
	}
	v.Span = whole
	v.Text = Text{Value: string(c.file.Src[v.Span.From:v.Span.To]), Span: v.Span, source: c.source}
	c.report("syntax", v.Span, fmt.Sprintf("! begins a tag in YAML; put the text in quotes: %q", v.Text.Value))
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
	c.report("syntax", v.Span, fmt.Sprintf("{{ begins a map in YAML; put the text in quotes: %q", v.Text.Value))
	return true
}

// scalarEnd finds where a scalar ends in the file.
func (c *converter) scalarEnd(n *yaml.Node, at int) int {
	src := c.file.Src
	switch {
	case at >= len(src):
		return len(src)
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return closeQuote(src, at, '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		return closeQuote(src, at, '\'')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		d := &decoding{src: src, pos: at, value: n.Value}
		d.block()
		return d.end()
	}
	if end := at + len(n.Value); end <= len(src) && string(src[at:end]) == n.Value {
		return end
	}
	d := &decoding{src: src, pos: at, value: n.Value}
	if d.plain(); d.wrong {
		return at
	}
	return d.pos
}

// closeQuote is the offset behind the quote that closes the scalar at an offset.
func closeQuote(src []byte, at int, quote byte) int {
	for i := at + 1; i < len(src); i++ {
		switch {
		case src[i] == '\\' && quote == '"':
			i++
		case src[i] == quote && quote == '\'' && i+1 < len(src) && src[i+1] == quote:
			i++
		case src[i] == quote:
			return i + 1
		}
	}
	return len(src)
}

// describe names a value in a message.
func describe(v *Value) string {
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

// quoteShort quotes a text and cuts a long one.
func quoteShort(s string) string {
	const most = 40
	if runes := []rune(s); len(s) > most && len(runes) > most {
		s = strings.TrimSpace(string(runes[:most])) + "…"
	}
	return fmt.Sprintf("%q", s)
}
