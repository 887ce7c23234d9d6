// From source to syntax, by the library's parser.

package eval

import (
	"errors"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// parseSource parses an expression by the library, which panics on some malformed input
// after it has found the error.
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
