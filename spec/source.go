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
	out   []byte
	spans []Span
	first int // where the content starts
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

// decode reads the scalar at span again; nil when the result is not value,
// which would make the map a guess.
func decode(src []byte, span Span, value string) *decoding {
	d := &decoding{src: src[:span.To], pos: span.From, first: span.From}
	ok := true
	switch d.peek() {
	case '"':
		d.quoted('"')
	case '\'':
		d.quoted('\'')
	case '|', '>':
		d.src = src // the last line break lies behind the span
		ok = d.block(value)
	default:
		d.plain(len(value))
	}
	if !ok || string(d.out) != value {
		return nil
	}
	return d
}

// peek is the byte at the position; 0 at the end of the text.
func (d *decoding) peek() byte { return d.peekAt(0) }

func (d *decoding) peekAt(n int) byte {
	if d.pos+n < len(d.src) {
		return d.src[d.pos+n]
	}
	return 0
}

// emit adds text to the value, written by the bytes from start to the position.
func (d *decoding) emit(text string, start int) {
	d.out = append(d.out, text...)
	for range len(text) {
		d.spans = append(d.spans, Span{start, d.pos})
	}
}

// copyRune moves one character from the source to the value, byte for byte.
func (d *decoding) copyRune() {
	_, size := utf8.DecodeRune(d.src[d.pos:])
	for range size {
		d.out = append(d.out, d.src[d.pos])
		d.spans = append(d.spans, Span{d.pos, d.pos + 1})
		d.pos++
	}
}

// lineBreak is the length of the line break at offset at, and what it decodes to.
func lineBreak(src []byte, at int) (int, string) {
	rest := src[min(at, len(src)):]
	switch {
	case len(rest) == 0:
		return 0, ""
	case rest[0] == '\n':
		return 1, "\n"
	case rest[0] == '\r':
		if len(rest) > 1 && rest[1] == '\n' {
			return 2, "\n"
		}
		return 1, "\n"
	case rest[0] == 0xC2 && len(rest) > 1 && rest[1] == 0x85:
		return 2, "\n"
	case bytes.HasPrefix(rest, []byte("\u2028")):
		return 3, "\u2028"
	case bytes.HasPrefix(rest, []byte("\u2029")):
		return 3, "\u2029"
	}
	return 0, ""
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// plain decodes an unquoted scalar of which the value's length is known: where
// it stops depends on the context, so the length is the only guide needed.
func (d *decoding) plain(length int) {
	for len(d.out) < length && d.pos < len(d.src) {
		if !d.fold(false) {
			d.copyRune()
		}
	}
}

// quoted decodes a scalar in single or double quotes.
func (d *decoding) quoted(quote byte) {
	d.pos++
	d.first = d.pos
	for d.pos < len(d.src) {
		c := d.peek()
		switch {
		case c == '\'' && quote == c && d.peekAt(1) == '\'':
			start := d.pos
			d.pos += 2
			d.emit("'", start)
		case c == quote:
			return
		case c == '\\' && quote == '"':
			if n, _ := lineBreak(d.src, d.pos+1); n > 0 {
				d.pos += 1 + n
				d.fold(true)
			} else if !d.escape() {
				return
			}
		case !d.fold(false):
			d.copyRune()
		}
	}
}

// piece is a part of a run of white space and the bytes that wrote it.
type piece struct {
	text string
	span Span
}

// fold decodes the white space at the position: blanks stay, the first line
// break becomes a space unless others follow, and indentation goes. escaped
// says that a line break was just consumed behind a backslash.
func (d *decoding) fold(escaped bool) bool {
	begin, broken := d.pos, escaped
	var blanks, first piece
	var more []piece
	for d.pos < len(d.src) {
		if isBlank(d.peek()) {
			d.pos++
			continue
		}
		n, text := lineBreak(d.src, d.pos)
		if n == 0 {
			break
		}
		p := piece{text, Span{d.pos, d.pos + n}}
		if broken {
			more = append(more, p)
		} else {
			first, broken = p, true
		}
		d.pos += n
	}
	if d.pos == begin {
		return false
	}
	blanks = piece{string(d.src[begin:d.pos]), Span{begin, d.pos}}
	d.join(blanks, first, more, broken)
	return true
}

// join adds what a run of white space decodes to.
func (d *decoding) join(blanks, first piece, more []piece, broken bool) {
	switch {
	case !broken:
		for i := range blanks.text {
			d.add(piece{blanks.text[i : i+1], Span{blanks.span.From + i, blanks.span.From + i + 1}})
		}
		return
	case first.text == "\n" && len(more) == 0:
		d.add(piece{" ", blanks.span})
	case first.text != "\n" && first.text != "":
		d.add(first)
	}
	for _, p := range more {
		d.add(p)
	}
}

func (d *decoding) add(p piece) {
	d.out = append(d.out, p.text...)
	for range len(p.text) {
		d.spans = append(d.spans, p.span)
	}
}

// escapes are the one-letter escapes of double-quoted scalars.
const (
	escapeLetters = "0abt\tnvfre \"'/\\N_LP"
	escapeValues  = "\x00\a\b\t\t\n\v\f\r\x1b \"'/\\\u0085\u00a0\u2028\u2029"
)

// escape decodes the escape at the position; false when there is none that is legal.
func (d *decoding) escape() bool {
	start := d.pos
	letter := d.peekAt(1)
	if i := strings.IndexByte(escapeLetters, letter); i >= 0 && letter != 0 {
		d.pos += 2
		d.emit(string([]rune(escapeValues)[i]), start)
		return true
	}
	r, size := hexEscape(d.src[d.pos:])
	if size == 0 {
		return false
	}
	d.pos += size
	d.emit(string(r), start)
	return true
}

// hexEscape reads \xHH, \uHHHH, \UHHHHHHHH or a pair of \u surrogates at the
// start of src; size 0 when there is none.
func hexEscape(src []byte) (r rune, size int) {
	if len(src) < 2 || src[0] != '\\' {
		return 0, 0
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[src[1]]
	if digits == 0 || len(src) < 2+digits {
		return 0, 0
	}
	for _, c := range src[2 : 2+digits] {
		v := strings.IndexByte("0123456789abcdef", c|0x20)
		if v < 0 || c < '0' {
			return 0, 0
		}
		r = r<<4 | rune(v)
	}
	size = 2 + digits
	if r >= 0xD800 && r < 0xDC00 && src[1] == 'u' {
		if low, n := hexEscape(src[size:]); n == 6 && low >= 0xDC00 && low < 0xE000 {
			return (r-0xD800)<<10 + (low - 0xDC00) + 0x10000, size + n
		}
	}
	return r, size
}
