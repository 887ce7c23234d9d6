// Conversion of offsets in a decoded scalar to offsets in the file.

package spec

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/internal/lazyregexp"
)

// At returns the span of the bytes [from, to) of t.Value in the file, or of the whole scalar if it can't
// find them. At clamps offsets to the value. It is slow, because it decodes the scalar again.
func (t Text) At(from, to int) Span {
	if t.source == nil {
		return t.Span
	}
	from = max(0, min(from, len(t.Value)))
	to = max(from, min(to, len(t.Value)))
	base := t.source.base
	if t.source.host != nil && t.Span == t.source.InHost(Span{0, len(t.source.Src)}) {
		return Span{base + from, base + to}
	}
	s := alignScalar(t.source.Src, t.Span.From-base, t.Value)
	if s.wrong {
		return t.Span
	}
	start := base + s.offset(from)
	if from == to {
		return Span{start, start}
	}
	return Span{start, base + s.spans[to-1].To}
}

// spelling maps each byte of a scalar's value to its span in the source.
type spelling struct {
	src   []byte
	value string
	spans []Span // by byte of the value
	first int    // the offset of the content
	wrong bool   // the source does not match the value
}

// alignScalar aligns a value with the scalar at an offset.
func alignScalar(src []byte, at int, value string) *spelling {
	s := &spelling{src: src, value: value, first: at}
	switch {
	case at >= len(src):
	case src[at] == '|' || src[at] == '>':
		s.alignBlock(at)
	case src[at] == '"' || src[at] == '\'':
		s.first++
		s.alignFlow(at+1, src[at])
	default:
		s.alignFlow(at, 0)
	}
	s.wrong = s.wrong || len(s.spans) != len(value)
	return s
}

// offset returns the offset of byte i of the value, or of its end.
func (s *spelling) offset(i int) int {
	switch {
	case i < len(s.spans):
		return s.spans[i].From
	case len(s.spans) > 0:
		return s.spans[len(s.spans)-1].To
	}
	return s.first
}

// unmappedPart returns the part of the value that is not mapped yet.
func (s *spelling) unmappedPart() string { return s.value[len(s.spans):] }

// addSpans maps the next n bytes of the value to a part of the source.
func (s *spelling) addSpans(n int, at Span) {
	for range min(n, len(s.unmappedPart())) {
		s.spans = append(s.spans, at)
	}
}

// charEscape matches an escape in double quotes.
var charEscape = lazyregexp.New(`(?s)^\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|x..|u.{4}|U.{8}|.)`)

// alignChar reads a character or an escape and returns the offset after it.
func (s *spelling) alignChar(at int, quote byte) int {
	_, size := utf8.DecodeRuneInString(s.unmappedPart())
	switch c := s.src[at]; {
	case c == '\'' && quote == c:
		s.addSpans(1, Span{at, at + 2})
		return at + 2
	case c == '\\' && quote == '"':
		n := len(charEscape.Get().Find(s.src[at:]))
		s.addSpans(size, Span{at, at + n})
		return at + n
	}
	s.wrong = !bytes.HasPrefix(s.src[at:], []byte(s.unmappedPart()[:size]))
	for i := range size {
		s.addSpans(1, Span{at + i, at + i + 1})
	}
	return at + size
}

// alignBreaks maps line breaks of the value, or the space of a folded line, to a part of the source.
func (s *spelling) alignBreaks(most int, folded bool, at Span) {
	rest := s.unmappedPart()
	breaks := len(rest) - len(strings.TrimLeft(rest, "\n"))
	if breaks == 0 && folded && strings.HasPrefix(rest, " ") {
		breaks = 1
	}
	s.addSpans(min(most, breaks), at)
}

// lineFold matches line breaks and the blanks around them, which a plain or quoted scalar drops.
var lineFold = lazyregexp.New(`^[ \t]*(?:\r?\n[ \t]*)+`)

// alignFlow reads a plain or quoted scalar. A single line break is a space, unless an escape hides it.
func (s *spelling) alignFlow(at int, quote byte) {
	for s.unmappedPart() != "" && at < len(s.src) && !s.wrong {
		from := at
		hidden := quote == '"' && s.src[at] == '\\' && lineBreak(s.src, at+1) > 0
		if hidden {
			from++
		}
		fold := lineFold.Get().Find(s.src[from:])
		end, count := from+len(fold), bytes.Count(fold, []byte("\n"))
		switch {
		case hidden:
			s.alignBreaks(count-1, false, Span{at, end})
		case count > 0:
			s.alignBreaks(max(count-1, 1), true, Span{at, end})
		default:
			end = s.alignChar(at, quote)
		}
		at = end
	}
}

// alignBlock reads a literal or folded scalar. The value lacks the indentation of its lines.
func (s *spelling) alignBlock(at int) {
	head := lineEnd(s.src, at)
	for s.first < head && s.src[s.first] != ' ' && s.src[s.first] != '\t' {
		s.first++
	}
	mapped := 0 // at the beginning of the line
	for at = head; s.unmappedPart() != "" && at < len(s.src) && !s.wrong; {
		n := lineBreak(s.src, at)
		if n == 0 {
			at = s.alignChar(at, 0)
			continue
		}
		s.alignBreaks(len(s.value), len(s.spans) > mapped, Span{at, at + n})
		at += n
		at += max(0, countBlanks(string(s.src[at:lineEnd(s.src, at)]))-countBlanks(s.unmappedPart()))
		mapped = len(s.spans)
	}
}

// countBlanks returns the number of blanks at the beginning of a text.
func countBlanks(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

// closeQuote returns the offset after the quote that closes the scalar at an offset.
func closeQuote(src []byte, at int) int {
	quote := src[at]
	for i := at + 1; i < len(src); i++ {
		switch {
		case src[i] == '\\' && quote == '"', src[i] == quote && quote == '\'' && i+1 < len(src) && src[i+1] == quote:
			i++
		case src[i] == quote:
			return i + 1
		}
	}
	return len(src)
}

// lineBreak returns the length of the line break at an offset, or 0.
func lineBreak(src []byte, at int) int {
	switch rest := src[min(at, len(src)):]; {
	case bytes.HasPrefix(rest, []byte("\r\n")):
		return 2
	case bytes.HasPrefix(rest, []byte("\n")):
		return 1
	}
	return 0
}

// lineEnd returns the offset of the line break that ends the line at pos, or the end of src.
func lineEnd(src []byte, pos int) int {
	n := bytes.IndexByte(src[pos:], '\n')
	switch {
	case n < 0:
		return len(src)
	case n > 0 && src[pos+n-1] == '\r':
		n--
	}
	return pos + n
}
