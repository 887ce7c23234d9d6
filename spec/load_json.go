// Reading JSON: what YAML reads of it, without a tree of the library's nodes, which
// takes more memory than all that is kept of a file.

package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unsafe"
)

// isJSON reports whether a text is JSON of which YAML reads the same: without the
// escapes that plainJSON rewrites, tabs, and what YAML takes for line breaks.
func isJSON(src []byte) bool {
	if first := bytes.TrimLeft(src, " \r\n"); len(first) == 0 || first[0] != '{' {
		return false
	}
	for _, odd := range []string{"\t", "\u0085", "\u2028", "\u2029"} {
		if bytes.Contains(src, []byte(odd)) {
			return false
		}
	}
	return !hasRefused(src) && json.Valid(src)
}

// jsonReader reads the values of a text that isJSON.
type jsonReader struct {
	*converter
	whole string // the text: parts of it are the texts of scalars
	// counts are the numbers of parts of the lists and maps in the order in which they
	// begin.
	counts []int
	pos    int
}

// readJSON reads the value of a text that isJSON.
func (c *converter) readJSON(v *Value) {
	// The graph keeps its text, which never changes: the texts in it need no copy of it.
	whole := unsafe.String(unsafe.SliceData(c.text), len(c.text))
	r := jsonReader{converter: c, whole: whole, counts: countParts(c.text)}
	r.value(v)
}

// countParts counts the parts of lists and maps.
func countParts(src []byte) []int {
	var counts, open []int
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '"':
			i = closeQuote(src, i, '"') - 1
		case '{', '[':
			open, counts = append(open, len(counts)), append(counts, 1)
			for src[i+1] == ' ' || src[i+1] == '\r' || src[i+1] == '\n' {
				i++
			}
			if src[i+1] == '}' || src[i+1] == ']' {
				counts[len(counts)-1] = 0
			}
		case ',':
			counts[open[len(open)-1]]++
		case '}', ']':
			open = open[:len(open)-1]
		}
	}
	return counts
}

func (r *jsonReader) space() {
	for r.pos < len(r.whole) && (r.whole[r.pos] == ' ' || r.whole[r.pos] == '\n' || r.whole[r.pos] == '\r') {
		r.pos++
	}
}

func (r *jsonReader) value(v *Value) {
	r.space()
	switch at := r.pos; r.whole[at] {
	case '{', '[':
		if r.depth++; r.depth > maxDepth {
			r.refused = true
			r.diags = append(r.diags, tooDeep(r.file, at))
			return
		}
		count := r.counts[0]
		r.counts = r.counts[1:]
		r.pos++
		if r.whole[at] == '{' {
			r.object(v, count)
		} else {
			r.array(v, count)
		}
		r.space()
		r.pos++
		r.depth--
		v.Span = Span{at, r.pos}
	case '"':
		v.Kind, v.Text = String, r.text()
	default:
		for r.pos < len(r.whole) && !bytes.ContainsRune([]byte(",]} \r\n"), rune(r.whole[r.pos])) {
			r.pos++
		}
		v.Text = Text{Value: r.whole[at:r.pos], Span: Span{at, r.pos}, source: r.source}
		var problem string
		if v.Kind, v.bits, problem = resolvePlain(v.Value); problem != "" {
			r.report("invalid-value", v.Span, fmt.Sprintf("%q %s", v.Value, problem))
		}
	}
}

// text reads a text in quotes.
func (r *jsonReader) text() Text {
	at := r.pos
	r.pos = closeQuote(r.converter.text, at, '"')
	out := Text{Value: r.whole[at+1 : r.pos-1], Span: Span{at, r.pos}, source: r.source}
	if bytes.IndexByte(r.converter.text[at:r.pos], '\\') >= 0 {
		_ = json.Unmarshal(r.converter.text[at:r.pos], &out.Value) // it is valid
	}
	return out
}

func (r *jsonReader) array(v *Value, count int) {
	v.Kind, v.Items = List, r.items.take(count)[:count]
	for i := range v.Items {
		if r.value(&v.Items[i]); r.refused {
			return
		}
		r.comma(i, count)
	}
}

func (r *jsonReader) object(v *Value, count int) {
	set := fieldSet{fields: r.fields.take(count)}
	for i := range count {
		r.space()
		key := Value{Kind: String, Text: r.text()}
		r.space()
		r.pos++ // the colon
		f := set.next()
		f.Key = key.Text
		if r.value(&f.Value); r.refused {
			return
		}
		if r.enters(&set, &key, f) {
			set.add()
		} else {
			*f = Field{}
		}
		r.comma(i, count)
	}
	v.Kind, v.Fields = Map, set.fields
}

// comma moves behind the comma that follows a part, unless it is the last.
func (r *jsonReader) comma(i, count int) {
	if i < count-1 {
		r.space()
		r.pos++
	}
}
