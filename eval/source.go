// The text of one expression, and offsets that the parser does not keep.

package eval

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/ast"
)

// source is the text of an expression.
type source struct {
	text string
	// code is text with "_" for the bytes of strings and spaces for those of comments, so that
	// every bracket in it is one of the expression.
	code []byte
	open []int // the offsets of brackets that are never closed
	// broken is the offset of the first string with a line break, or -1. The parser refuses line
	// breaks, so they are NUL in plain. YAML makes them of \n in double quotes.
	broken int
	plain  string
}

// scan finds strings, comments and brackets. It refuses text that is too long or nested too deep
// before any recursive parser sees it. The parser reports brackets that don't match.
func (s *source) scan(text string) *Error {
	if len(text) > maxSource {
		return syntaxAt(0, len(text), "expression is %d bytes long, at most %d are allowed", len(text), maxSource)
	}
	*s = source{text: text, code: []byte(text), broken: -1, plain: text}
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
			fill := "_"
			if text[i] == '/' && end > i+1 {
				fill = " "
			}
			copy(s.code[i:end], strings.Repeat(fill, end-i))
			if text[i] != '/' && text[i] != '`' && strings.Contains(text[i:end], "\n") {
				if s.broken < 0 {
					s.broken = i
				}
				s.plain = s.plain[:i] + strings.ReplaceAll(text[i:end], "\n", "\x00") + s.plain[end:]
			}
			i = end - 1
		case '(', '[', '{':
			if s.open = append(s.open, i); len(s.open) > maxNesting {
				return tooDeepError(i, i+1)
			}
		case ')', ']', '}':
			s.open = s.open[:max(len(s.open)-1, 0)]
		}
	}
	return nil
}

// breakRestorer turns the NUL in strings of a syntax tree back into line breaks.
type breakRestorer struct{}

// Visit changes one node.
func (breakRestorer) Visit(n *ast.Node) {
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

// skipOpaque returns the end of the string or comment that starts at i, or i+1 for a plain slash.
// closed is false if the text ends inside.
func skipOpaque(text string, i int) (end int, closed bool) {
	opening := text[i : i+1]
	closing := opening
	if opening == "/" {
		switch opening = text[i:min(i+2, len(text))]; opening {
		case "//":
			closing = "\n"
		case "/*":
			closing = "*/"
		default:
			return i + 1, true
		}
	}
	for i += len(opening); i < len(text); i++ {
		switch rest := text[i:]; {
		case closing == "`" && strings.HasPrefix(rest, "``"), // one backtick
			rest[0] == '\\' && (closing == "'" || closing == `"`):
			i++
		case strings.HasPrefix(rest, closing):
			return i + len(closing), true
		}
	}
	return len(text), opening == "//"
}

// byteOffset turns an offset in runes, as the parser counts, into bytes.
func (s *source) byteOffset(runes int) int {
	for i := range s.text {
		if runes--; runes < 0 {
			return i
		}
	}
	return len(s.text)
}

// closingEnd returns the end of the bracket pair that opens at from or after white space and
// comments there, or from if there is none.
func (s *source) closingEnd(from int) int {
	depth := 0
	for i := s.skipSpace(from); i < len(s.code); i++ {
		switch s.code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		if depth <= 0 {
			break
		}
	}
	return from
}

// skipSpace returns the offset after white space and comments.
func (s *source) skipSpace(at int) int {
	return len(s.code) - len(bytes.TrimLeftFunc(s.code[at:], unicode.IsSpace))
}

// withParentheses adds the parentheses around an operand to its span.
func (s *source) withParentheses(from, to int) (int, int) {
	for {
		left := bytes.TrimRightFunc(s.code[:from], unicode.IsSpace)
		right := s.skipSpace(to)
		if !bytes.HasSuffix(left, []byte("(")) || right == len(s.code) || s.code[right] != ')' {
			return from, to
		}
		from, to = len(left)-1, right+1
	}
}
