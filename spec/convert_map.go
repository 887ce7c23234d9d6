// Maps and scalars of a document: keys, duplicates, merge keys, ends of scalars.

package spec

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// smallMap is the number of keys up to which duplicates are looked for one by one.
const smallMap = 12

// fieldSet is a map under construction.
type fieldSet struct {
	fields []Field
	index  map[string]int
	merged map[string]bool // keys that came by a merge, which a written key replaces
}

func (s *fieldSet) find(name string) int {
	if s.index == nil && len(s.fields) <= smallMap {
		for i := range s.fields {
			if s.fields[i].Key.Value == name {
				return i
			}
		}
		return -1
	}
	if s.index == nil {
		s.index = make(map[string]int, cap(s.fields))
		for i := range s.fields {
			s.index[s.fields[i].Key.Value] = i
		}
	}
	if i, ok := s.index[name]; ok {
		return i
	}
	return -1
}

func (s *fieldSet) add(f Field) {
	if s.index != nil {
		s.index[f.Key.Value] = len(s.fields)
	}
	s.fields = append(s.fields, f)
}

// mapping reads a map. The keys of a merge (<<) stand where the merge stands;
// written keys win over merged ones, and earlier merged maps over later ones.
func (c *converter) mapping(n *yaml.Node, at int) (Value, int) {
	v := Value{Kind: Map, Span: Span{at, at}}
	set := fieldSet{}
	if len(n.Content) > 0 {
		set.fields = make([]Field, 0, len(n.Content)/2)
	}
	size, end := 1, at
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, child := n.Content[i], n.Content[i+1]
		value, count := Value{}, 0
		if isMerge(key) {
			value, count = c.convert(child)
			c.merge(&set, &value)
		} else {
			value, count = c.field(&set, key, child)
		}
		size += count + 1
		end = max(end, c.endOf(child, &value))
	}
	v.Fields = set.fields
	v.Span.To = c.close(n, at, end, '{', '}')
	c.checkTag(n, v.Span, "!!map")
	return v, size
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Tag == "!!merge"
}

// field reads one entry; a key that was there before is reported and left out.
func (c *converter) field(set *fieldSet, key, child *yaml.Node) (Value, int) {
	k, _ := c.convert(key)
	value, count := c.convert(child)
	switch {
	case c.refused:
		return value, count
	case !k.IsScalar():
		c.report("syntax", k.Span, "a map key must be a scalar; found "+describe(&k))
		return value, count
	case k.Kind == Null && k.Text.Value == "":
		c.report("syntax", k.Span, "a map key is empty; write \"\" for a key without letters")
		return value, count
	}
	name := k.Text.Value
	switch i := set.find(name); {
	case i < 0:
		set.add(Field{Key: k.Text, Value: value})
	case set.merged[name]:
		set.fields[i] = Field{Key: k.Text, Value: value}
		delete(set.merged, name)
	default:
		c.diags = append(c.diags, Diagnostic{
			File: c.file, Rule: "duplicate-key", Severity: Error, Span: k.Text.Span,
			Message: fmt.Sprintf("the key %q stands twice in this map", name),
			Related: []Related{{File: c.file, Span: set.fields[i].Key.Span, Message: "first here"}},
		})
	}
	return value, count
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
				set.add(f)
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
func (c *converter) scalar(n *yaml.Node, at int) Value {
	v := Value{Kind: String, Text: Text{Value: n.Value, source: c.source}}
	v.Span = Span{at, c.scalarEnd(n, at)}
	v.Text.Span = v.Span
	problem := ""
	tagged := n.Style&yaml.TaggedStyle != 0
	quoted := n.Style&^yaml.TaggedStyle != 0
	switch {
	case tagged:
		problem = c.tagged(n, &v)
	case !quoted:
		v.Kind, v.data, problem = resolvePlain(n.Value)
	}
	if problem != "" {
		c.report("invalid-value", v.Span, fmt.Sprintf("%q %s", n.Value, problem))
	}
	return v
}

// tagged resolves a scalar with an explicit tag of YAML's own.
func (c *converter) tagged(n *yaml.Node, v *Value) (problem string) {
	want := map[string]ValueKind{"!!null": Null, "!!bool": Bool, "!!int": Int, "!!float": Float}[n.Tag]
	if n.Tag == "!!str" || n.Tag == "!!timestamp" {
		return ""
	}
	if want == 0 {
		c.checkTag(n, v.Span, "")
		return ""
	}
	kind, data, problem := resolvePlain(n.Value)
	if i, ok := data.(int); ok && want == Float {
		kind, data = Float, float64(i)
	}
	if kind != want {
		return "is no value of the tag " + n.Tag
	}
	v.Kind, v.data = kind, data
	return problem
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
		return layoutBlock(src, at, n.Value).end
	}
	if end := at + len(n.Value); end <= len(src) && string(src[at:end]) == n.Value {
		return end
	}
	d := &decoding{src: src, pos: at, first: at}
	d.plain(len(n.Value))
	if string(d.out) == n.Value {
		return d.pos
	}
	return at
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
