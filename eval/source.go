// The text of one expression: its brackets, and offsets in runes and bytes.

package eval

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
)

// source is the text of an expression with its bracket pairs.
type source struct {
	text  string
	pairs []pair // sorted by open
	// broken is the offset of the first string with a line break, or -1. The parser refuses line
	// breaks, so they are NUL in plain. YAML makes them of \n in double quotes.
	broken int
	plain  string
}

type pair struct{ open, end int } // byte offsets of both brackets

// scan finds the brackets outside of strings and comments and refuses
// text that is too long or nested too deep, before any recursive parser sees
// it. Brackets that don't match are left to the parser.
func (s *source) scan(text string) *Error {
	if len(text) > maxSource {
		return syntaxAt(0, len(text), "expression is %d bytes long, at most %d are allowed", len(text), maxSource)
	}
	*s = source{text: text, broken: -1, plain: text}
	var open []int // of pairs
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\'', '"', '`', '/':
			end, closed := skipOpaque(text, i)
			switch {
			case !closed && s.broken >= 0 && text[i] != '/': // that string probably lacks its end
				return notClosedError(text, s.broken)
			case !closed:
				return notClosedError(text, i)
			}
			if text[i] != '/' && text[i] != '`' && strings.Contains(text[i:end], "\n") {
				if s.broken < 0 {
					s.broken = i
				}
				s.plain = s.plain[:i] + strings.ReplaceAll(text[i:end], "\n", "\x00") + s.plain[end:]
			}
			i = end - 1
		case '(', '[', '{':
			if len(open) >= maxNesting {
				return tooDeepError(i, i+1)
			}
			open = append(open, len(s.pairs))
			s.pairs = append(s.pairs, pair{i, len(text)})
		case ')', ']', '}':
			if n := len(open); n > 0 {
				s.pairs[open[n-1]].end = i
				open = open[:n-1]
			}
		}
	}
	return nil
}

// showBreaks turns the NUL in strings of a syntax tree back into line breaks.
type showBreaks struct{}

// Visit changes one node.
func (showBreaks) Visit(n *ast.Node) {
	if s, ok := (*n).(*ast.StringNode); ok {
		s.Value = strings.ReplaceAll(s.Value, "\x00", "\n")
	}
}

// notClosedError reports a string or comment without an end.
func notClosedError(text string, at int) *Error {
	if text[at] == '/' {
		return syntaxAt(at, at+2, "comment is not closed")
	}
	return syntaxAt(at, at+1, "string is not closed")
}

func tooDeepError(from, to int) *Error {
	return syntaxAt(from, to, "expression is nested deeper than %d levels", maxNesting)
}

// skipOpaque returns the end of the string or comment that starts at i, or i+1
// for a plain slash; closed is false when the text ends inside.
func skipOpaque(text string, i int) (end int, closed bool) {
	switch quote := text[i]; quote {
	case '/':
		return skipComment(text, i)
	case '`':
		for j := i + 1; j < len(text); j++ {
			if text[j] != '`' {
				continue
			}
			if j+1 < len(text) && text[j+1] == '`' {
				j++ // a doubled backtick stands for one
				continue
			}
			return j + 1, true
		}
	default:
		for j := i + 1; j < len(text); j++ {
			switch text[j] {
			case '\\':
				j++
			case quote:
				return j + 1, true
			}
		}
	}
	return len(text), false
}

func skipComment(text string, i int) (end int, closed bool) {
	switch {
	case strings.HasPrefix(text[i:], "//"):
		if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
			return i + n + 1, true
		}
		return len(text), true
	case strings.HasPrefix(text[i:], "/*"):
		if n := strings.Index(text[i+2:], "*/"); n >= 0 {
			return i + 2 + n + 2, true
		}
		return len(text), false
	}
	return i + 1, true
}

// byteOffset turns an offset in runes, as the parser counts, into bytes.
func (s *source) byteOffset(runes int) int {
	for i := range s.text {
		if runes <= 0 {
			return i
		}
		runes--
	}
	return len(s.text)
}

// closingEnd returns the end of the bracket pair that opens at from or after white space and
// comments there, or from if there is none.
func (s *source) closingEnd(from int) int {
	at := s.skipSpace(from)
	for _, p := range s.pairs {
		if p.open == at {
			return min(p.end+1, len(s.text))
		}
	}
	return from
}

// findUnclosed returns the innermost bracket without an end, or -1.
func (s *source) findUnclosed() int {
	for _, p := range slices.Backward(s.pairs) {
		if p.end == len(s.text) {
			return p.open
		}
	}
	return -1
}

func (s *source) skipSpace(at int) int {
	for at < len(s.text) {
		r, n := utf8.DecodeRuneInString(s.text[at:])
		switch {
		case unicode.IsSpace(r):
			at += n
		case r == '/':
			end, _ := skipComment(s.text, at)
			if end == at+1 {
				return at
			}
			at = end
		default:
			return at
		}
	}
	return at
}

// withParentheses adds the parentheses around an operand to its span.
func (s *source) withParentheses(from, to int) (int, int) {
	for {
		left := strings.TrimRightFunc(s.text[:from], unicode.IsSpace)
		if !strings.HasSuffix(left, "(") {
			return from, to
		}
		at := s.skipSpace(to)
		if at >= len(s.text) || s.text[at] != ')' || s.closingEnd(len(left)-1) != at+1 {
			return from, to
		}
		from, to = len(left)-1, at+1
	}
}
