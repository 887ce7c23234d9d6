// Mapping offsets in a decoded scalar back to the file.

package spec

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// scalar holds the source of a Text. All texts of a file share one.
type scalar struct {
	src  []byte
	text *File // of a text that stands in a file of its own
	base int   // where src begins in the offsets of the graph's file
}

// At maps the bytes [from, to) of t.Value to the bytes of the file that wrote them,
// through escapes, folds and indentation. Offsets outside the value are moved to its
// nearest end. A place that cannot be found exactly yields the span of the whole
// scalar. At decodes the scalar again, so it is for findings only.
func (t Text) At(from, to int) Span {
	if t.source == nil {
		return t.Span
	}
	from = max(0, min(from, len(t.Value)))
	to = max(from, min(to, len(t.Value)))
	if t.source.text != nil {
		return t.source.text.InHost(Span{from, to})
	}
	base := t.source.base
	s := alignScalar(t.source.src, t.Span.From-base, t.Value)
	if s.wrong {
		return t.Span
	}
	start := base + s.offset(from)
	if from == to {
		return Span{start, start}
	}
	return Span{start, base + s.spans[to-1].To}
}

// spelling maps each byte of a scalar's value to the bytes of the source that wrote it.
type spelling struct {
	src   []byte
	value string
	spans []Span
	first int  // where the content starts
	wrong bool // the source does not match the value
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

// endOffset returns the offset behind the last byte before trailing line breaks.
func (s *spelling) endOffset() int {
	if n := min(len(strings.TrimRight(s.value, "\n")), len(s.spans)); n > 0 {
		return s.spans[n-1].To
	}
	return s.first
}

// unmapped returns the part of the value that is not mapped yet.
func (s *spelling) unmapped() string { return s.value[len(s.spans):] }

// addSpans maps the next n bytes of the value to a part of the source.
func (s *spelling) addSpans(n int, at Span) {
	for range min(n, len(s.unmapped())) {
		s.spans = append(s.spans, at)
	}
}

// alignChar reads a character or an escape and returns the offset behind it.
func (s *spelling) alignChar(at int, quote byte) int {
	_, size := utf8.DecodeRuneInString(s.unmapped())
	switch c := s.src[at]; {
	case c == '\'' && quote == c:
		s.addSpans(1, Span{at, at + 2})
		return at + 2
	case c == '\\' && quote == '"':
		n := escapeLength(s.src[at:])
		s.addSpans(size, Span{at, at + n})
		return at + n
	}
	s.wrong = !bytes.HasPrefix(s.src[at:], []byte(s.unmapped()[:size]))
	for i := range size {
		s.addSpans(1, Span{at + i, at + i + 1})
	}
	return at + size
}

// alignBreaks maps line breaks of the value, or the space of a folded one, to a part of the source.
func (s *spelling) alignBreaks(most int, folded bool, at Span) {
	rest := s.unmapped()
	breaks := len(rest) - len(strings.TrimLeft(rest, "\n"))
	if breaks == 0 && folded && strings.HasPrefix(rest, " ") {
		breaks = 1
	}
	s.addSpans(min(most, breaks), at)
}

// alignFlow reads a plain or quoted scalar. White space around line breaks is dropped, and a
// single break is a space, unless an escape hides it.
func (s *spelling) alignFlow(at int, quote byte) {
	for s.unmapped() != "" && at < len(s.src) && !s.wrong {
		from, count := at, 0
		hidden := quote == '"' && s.src[at] == '\\' && lineBreak(s.src, at+1) > 0
		if hidden {
			at++
		}
		for at < len(s.src) {
			n := lineBreak(s.src, at)
			if n == 0 && !isBlank(s.src[at]) {
				break
			}
			count += min(n, 1)
			at += max(n, 1)
		}
		switch {
		case hidden:
			s.alignBreaks(count-1, false, Span{from, at})
		case count > 0:
			s.alignBreaks(max(count-1, 1), true, Span{from, at})
		case at > from:
			for i := from; i < at; i++ {
				s.addSpans(1, Span{i, i + 1})
			}
		default:
			at = s.alignChar(at, quote)
		}
	}
}

// alignBlock reads a literal or folded scalar.
func (s *spelling) alignBlock(at int) {
	head := lineEnd(s.src, at)
	for s.first < head && !isBlank(s.src[s.first]) {
		s.first++
	}
	indent := -1
	for to := head; s.unmapped() != "" && at < len(s.src) && !s.wrong; {
		found := len(s.spans)
		if to > head {
			line := string(s.src[at:to])
			bare := strings.TrimLeft(line, " ")
			if more := len(s.unmapped()) - len(strings.TrimLeft(s.unmapped(), " ")); indent < 0 && (bare != "" || more > 0) {
				indent = len(line) - len(bare) - more
			}
			for at += min(max(indent, 0), len(line)); indent >= 0 && at < to && s.unmapped() != "" && !s.wrong; {
				at = s.alignChar(at, 0)
			}
		}
		n := lineBreak(s.src, to)
		s.alignBreaks(len(s.value), len(s.spans) > found, Span{to, to + n})
		at = to + n
		to = lineEnd(s.src, at)
	}
}

// escapeLength returns the length of an escape in double quotes.
func escapeLength(src []byte) int {
	n := 2
	switch {
	case jsonPair().Match(src[:min(12, len(src))]):
		n = 12
	case len(src) < 2:
	case src[1] == 'x':
		n = 4
	case src[1] == 'u':
		n = 6
	case src[1] == 'U':
		n = 10
	}
	return min(n, len(src))
}

// closeQuote returns the offset behind the quote that closes the scalar at an offset.
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

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
