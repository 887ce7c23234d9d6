// The text of one expression: its syntax from the library's parser, and offsets that the parser
// does not keep.

package eval

import (
	"bytes"
	"errors"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// source is the text of an expression.
type source struct {
	text string
	// code is text with "_" for the bytes of strings and spaces for the bytes of comments, so that
	// each bracket in it belongs to the expression.
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
			case !closed && s.broken >= 0 && text[i] != '/': // the string with the line break probably has no end
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

// byteOffset converts an offset in runes, which the parser counts, to bytes.
func (s *source) byteOffset(runes int) int {
	for i := range s.text {
		if runes--; runes < 0 {
			return i
		}
	}
	return len(s.text)
}

// findClosingEnd returns the end of the bracket pair that opens at from. It skips white space and
// comments before the bracket, and returns from if no bracket follows.
func (s *source) findClosingEnd(from int) int {
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

// addParentheses extends the span of an operand by the parentheses around it.
func (s *source) addParentheses(from, to int) (int, int) {
	for {
		left := bytes.TrimRightFunc(s.code[:from], unicode.IsSpace)
		right := s.skipSpace(to)
		if !bytes.HasSuffix(left, []byte("(")) || right == len(s.code) || s.code[right] != ')' {
			return from, to
		}
		from, to = len(left)-1, right+1
	}
}

// parseSource parses an expression. It recovers from panics: on some malformed input the library's
// parser panics after it has found the error.
func parseSource(s *source) (tree ast.Node, err *Error) {
	defer func() {
		if r := recover(); r != nil {
			tree, err = nil, syntaxAt(0, len(s.text), "malformed expression")
		}
	}()
	if s.skipSpace(0) == len(s.code) {
		return nil, syntaxAt(0, len(s.text), "expression is empty")
	}
	out, perr := parser.ParseWithConfig(s.plain, &conf.Config{MaxNodes: maxNodes})
	switch {
	case perr == nil:
		if s.broken >= 0 {
			ast.Walk(&out.Node, breakRestorer{})
		}
		return out.Node, nil
	case s.broken >= 0:
		return nil, notClosedError(s.text, s.broken)
	}
	return nil, syntaxError(s, perr)
}

// syntaxError rewrites the parser's first error.
func syntaxError(s *source, err error) *Error {
	fe, _ := errors.AsType[*file.Error](err)
	from := s.byteOffset(fe.From)
	to := max(s.byteOffset(fe.To), from)
	token := s.text[from:to]
	if err := findIdiom(s.text, from); err != nil {
		return err
	}
	switch {
	case fe.Message == "unexpected token EOF":
		if n := len(s.open); n > 0 {
			at := s.open[n-1]
			return syntaxAt(at, at+1, "%q is not closed", s.text[at:at+1])
		}
		return syntaxAt(len(s.text), len(s.text), "unexpected end of the expression")
	case strings.HasPrefix(fe.Message, "unexpected token "):
		before := strings.TrimRight(s.text[:from], " ")
		if strings.HasSuffix(before, "?") && !strings.HasSuffix(before, "??") {
			return syntaxAt(len(before)-1, len(before), `unexpected "?"; it marks a path as optional in {{ }} only; here write a?.b, or a ?? other`)
		}
		hint := ""
		switch token {
		case "=":
			hint = `; write == to compare`
		case "if":
			hint = `; write condition ? value : other`
		case ":":
			hint = `; write ({...}) for an object inside a predicate`
		}
		return syntaxAt(from, to, "unexpected %q%s", token, hint)
	case strings.Contains(fe.Message, "maximum allowed nodes"):
		return syntaxAt(0, len(s.text), "expression has more than %d parts", maxNodes)
	case strings.HasPrefix(fe.Message, "Operator ("):
		return syntaxAt(from, to, "?? next to another operator needs parentheses")
	case strings.Contains(fe.Message, "strconv."): // the parser is at the next token
		return syntaxAt(0, len(s.text), "a number is out of the range of numbers")
	case strings.HasPrefix(fe.Message, "unrecognized character"):
		return syntaxAt(from, to, "unexpected character %q", token)
	}
	message, _, _ := strings.Cut(fe.Message, "\n")
	return syntaxAt(from, to, "%s", strings.ToLower(message[:1])+message[1:])
}
