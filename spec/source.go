// How offsets in a decoded scalar map back to the file.

package spec

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// scalar is what a Text needs to find its bytes again; one serves a whole file.
type scalar struct {
	src  []byte
	text *File // of a text that stands in a file of its own
	base int   // where src begins in the offsets of the graph's file
}

// At maps the bytes [from, to) of t.Value to the bytes of the file that wrote
// them: escapes, folds, indentation and line breaks of either kind are seen
// through. Offsets outside the value are moved to its nearest end. A place that
// cannot be found exactly yields the span of the whole scalar. The cost is that
// of decoding the scalar again, so it is for findings only.
func (t Text) At(from, to int) Span {
	if t.source == nil {
		return t.Span
	}
	from = max(0, min(from, len(t.Value)))
	to = max(from, min(to, len(t.Value)))
	if t.source.text != nil {
		return t.source.text.textSpan(from, to)
	}
	base := t.source.base
	d := decode(t.source.src, Span{t.Span.From - base, t.Span.To - base}, t.Value)
	if d == nil {
		return t.Span
	}
	start := base + d.place(from)
	if from == to {
		return Span{start, start}
	}
	return Span{start, base + d.spans[to-1].To}
}

// decoding is a scalar decoded anew, with the source span of each byte of the value.
type decoding struct {
	src   []byte
	pos   int
	value string
	spans []Span
	first int  // where the content starts
	wrong bool // the source does not say the value
}

// place is the offset at which byte i of the value starts, or where the value ends.
func (d *decoding) place(i int) int {
	switch {
	case i < len(d.spans):
		return d.spans[i].From
	case len(d.spans) > 0:
		return d.spans[len(d.spans)-1].To
	}
	return d.first
}

// decode reads the scalar at span again; nil when the source does not say value,
// which would make the map a guess.
func decode(src []byte, span Span, value string) *decoding {
	d := &decoding{src: src[:span.To], pos: span.From, first: span.From, value: value}
	switch c := d.peek(); c {
	case '"', '\'':
		d.quoted(c)
	case '|', '>':
		d.src = src // the last line break lies behind the span
		d.block()
	default:
		d.plain()
	}
	if d.wrong || len(d.spans) != len(value) {
		return nil
	}
	return d
}

// peek is the byte at the position; 0 at the end of the text.
func (d *decoding) peek() byte {
	if d.pos < len(d.src) {
		return d.src[d.pos]
	}
	return 0
}

// emit says that the next n bytes of the value are written by at.
func (d *decoding) emit(n int, at Span) {
	for range n {
		d.spans = append(d.spans, at)
	}
}

// copyRune moves over one character of the source, which is one of the value.
func (d *decoding) copyRune() {
	_, size := utf8.DecodeRune(d.src[d.pos:])
	rest := d.value[min(len(d.spans), len(d.value)):]
	d.wrong = d.wrong || !strings.HasPrefix(rest, string(d.src[d.pos:d.pos+size]))
	for range size {
		d.emit(1, Span{d.pos, d.pos + 1})
		d.pos++
	}
}

// plain decodes an unquoted scalar: where it stops depends on the context, so the
// length of the value is the only guide needed.
func (d *decoding) plain() {
	for len(d.spans) < len(d.value) && d.pos < len(d.src) && !d.wrong {
		if !d.fold(false) {
			d.copyRune()
		}
	}
}

// quoted decodes a scalar in single or double quotes.
func (d *decoding) quoted(quote byte) {
	d.pos++
	d.first = d.pos
	for d.pos < len(d.src) && !d.wrong {
		start, next := d.pos, byte(0)
		if start+1 < len(d.src) {
			next = d.src[start+1]
		}
		switch c := d.peek(); {
		case c == '\'' && quote == c && next == c:
			d.pos += 2
			d.emit(1, Span{start, d.pos})
		case c == quote:
			return
		case c == '\\' && quote == '"':
			if n, _ := lineBreak(d.src, start+1); n > 0 {
				d.pos += 1 + n
				d.fold(true)
				continue
			}
			_, size := utf8.DecodeRuneInString(d.value[min(len(d.spans), len(d.value)):])
			d.pos += escapeLength(d.src[start:])
			d.emit(size, Span{start, d.pos})
		case !d.fold(false):
			d.copyRune()
		}
	}
}

// escapeLength is how many bytes an escape in double quotes takes.
func escapeLength(src []byte) int {
	switch {
	case len(src) < 2:
		return len(src)
	case isPair(src):
		return 12
	case src[1] == 'x':
		return min(4, len(src))
	case src[1] == 'u':
		return min(6, len(src))
	case src[1] == 'U':
		return min(10, len(src))
	}
	return 2
}

// fold decodes the white space at the position: blanks stay, the first line
// break becomes a space unless others follow, and indentation goes. escaped
// says that a line break was just consumed behind a backslash.
func (d *decoding) fold(escaped bool) bool {
	begin := d.pos
	breaks, texts := d.skipBlank()
	whole := Span{begin, d.pos}
	switch {
	case len(breaks) == 0 && !escaped:
		for at := begin; at < d.pos; at++ {
			d.emit(1, Span{at, at + 1})
		}
		return d.pos > begin
	case !escaped && len(breaks) == 1 && texts[0] == "\n":
		d.emit(1, whole)
		return true
	case !escaped && texts[0] == "\n":
		breaks, texts = breaks[1:], texts[1:]
	}
	for i, at := range breaks {
		d.emit(len(texts[i]), at)
	}
	return true
}

// skipBlank moves over white space and returns the line breaks in it, and what they
// decode to.
func (d *decoding) skipBlank() (breaks []Span, texts []string) {
	for d.pos < len(d.src) {
		if isBlank(d.src[d.pos]) {
			d.pos++
			continue
		}
		n, text := lineBreak(d.src, d.pos)
		if n == 0 {
			break
		}
		breaks, texts = append(breaks, Span{d.pos, d.pos + n}), append(texts, text)
		d.pos += n
	}
	return breaks, texts
}

// block decodes a literal or folded scalar. Its words are those of the value; the
// white space between them differs by indentation and folds.
func (d *decoding) block() {
	header := lineEnd(d.src, d.pos)
	for d.pos < header && !isBlank(d.src[d.pos]) {
		d.pos++
	}
	d.first = d.pos
	n, _ := lineBreak(d.src, header)
	d.pos = header + n
	value := []byte(d.value)
	for len(d.spans) < len(value) && !d.wrong {
		gap := &decoding{src: value, pos: len(d.spans)}
		breaks, _ := gap.skipBlank()
		d.between(gap.pos, breaks)
		if d.pos >= len(d.src) {
			return
		}
		if len(d.spans) < len(d.value) {
			d.copyRune()
		}
	}
}

// between maps the white space of the value up to an offset, with its line breaks, to
// that of the source at the position. In the source there may be more line breaks: those
// that were folded, in front, and those behind the scalar.
func (d *decoding) between(end int, breaks []Span) {
	begin := d.pos
	written, _ := d.skipBlank()
	last := d.pos
	if n := len(breaks); end == len(d.value) && len(written) > n {
		last, written = written[n].From, written[:n]
	}
	folded := len(written) > 0 && len(breaks) == 0
	written = written[max(0, len(written)-len(breaks)):]
	inLine := true
	for i := len(d.spans); i < end; i = len(d.spans) {
		at := Span{begin, begin + 1}
		switch {
		case len(breaks) > len(written): // the text ends without its last break
			at = Span{last, last}
			breaks = nil
		case len(breaks) > 0 && i == breaks[0].From:
			d.emit(breaks[0].To-i-1, written[0])
			at, begin, inLine = written[0], written[0].To, false
			breaks, written = breaks[1:], written[1:]
		case len(breaks) > 0 && !inLine: // a line of blanks
			at.To = written[0].From
		case len(breaks) > 0 || folded && i < end-1:
			begin++
		case folded:
			at.To = last
		default: // indentation is in front
			at.From = max(begin, last-(end-i))
			at.To = at.From + 1
		}
		d.emit(1, at)
	}
}

// end is the offset behind the last byte that is no line break.
func (d *decoding) end() int {
	text := strings.TrimRight(d.value, "\n\u2028\u2029")
	if n := min(len(text), len(d.spans)); n > 0 {
		return d.spans[n-1].To
	}
	return d.first
}

// lineBreak is the length of the line break at offset at, and what it decodes to.
func lineBreak(src []byte, at int) (int, string) {
	rest := src[min(at, len(src)):]
	switch {
	case len(rest) == 0:
		return 0, ""
	case rest[0] == '\n':
		return 1, "\n"
	case bytes.HasPrefix(rest, []byte("\r\n")):
		return 2, "\n"
	case rest[0] == '\r':
		return 1, "\n"
	case bytes.HasPrefix(rest, []byte("\u0085")):
		return 2, "\n"
	case bytes.HasPrefix(rest, []byte("\u2028")), bytes.HasPrefix(rest, []byte("\u2029")):
		return 3, string(rest[:3])
	}
	return 0, ""
}

// lineEnd is the offset of the line break that ends the line at pos, or the end of src.
func lineEnd(src []byte, pos int) int {
	for ; pos < len(src); pos++ {
		if c := src[pos]; c == '\n' || c == '\r' || c >= utf8.RuneSelf {
			if n, _ := lineBreak(src, pos); n > 0 {
				return pos
			}
		}
	}
	return len(src)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
