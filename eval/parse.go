// From source to syntax, by the library's parser.

package eval

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// parse is the library's parser. It is never reused: its error handling leaves it
// unusable. It panics on some malformed input, after having found the error.
func parse(text *source) (tree ast.Node, err *Error) {
	defer func() {
		if r := recover(); r != nil {
			tree, err = nil, &Error{Rule: RuleSyntax, To: len(text.text), Message: "malformed expression"}
		}
	}()
	if text.skipSpace(0) == len(text.text) {
		return nil, &Error{Rule: RuleSyntax, To: len(text.text), Message: "expression is empty"}
	}
	out, perr := parser.ParseWithConfig(text.plain, &conf.Config{MaxNodes: maxNodes})
	if perr != nil && text.broken >= 0 {
		return nil, notClosed(text.text, text.broken)
	}
	if perr != nil {
		if err := braces(text); err != nil {
			return nil, err
		}
		if err := idiom(text); err != nil {
			return nil, err
		}
		return nil, syntaxError(text, perr)
	}
	return out.Node, nil
}

// syntaxError puts the parser's first error into our words.
func syntaxError(text *source, err error) *Error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return &Error{Rule: RuleSyntax, To: len(text.text), Message: "malformed expression"}
	}
	out := &Error{Rule: RuleSyntax, From: text.bytes(fe.From), To: text.bytes(fe.To), Message: lowerFirst(fe.Message)}
	out.To = max(out.To, out.From)
	switch found, ok := strings.CutPrefix(fe.Message, "unexpected token "); {
	case found == "EOF":
		out.From, out.To = len(text.text), len(text.text)
		out.Message = "unexpected end of the expression"
		if at := text.unclosed(); at >= 0 {
			out.From, out.To = at, at+1
			out.Message = fmt.Sprintf("%q is not closed", text.text[at:at+1])
		}
	case ok:
		token := text.text[out.From:out.To]
		out.Message = fmt.Sprintf("unexpected %q%s", token, tokenHint(token))
		if before := strings.TrimRight(text.text[:out.From], " "); strings.HasSuffix(before, "?") && !strings.HasSuffix(before, "??") {
			out.From, out.To = len(before)-1, len(before)
			out.Message = `unexpected "?"; it marks a path as optional in {{ }} only; here write a?.b, or a ?? other`
		}
	case strings.Contains(fe.Message, "maximum allowed nodes"):
		out.From, out.To = 0, len(text.text)
		out.Message = fmt.Sprintf("expression has more than %d parts", maxNodes)
	case fe.Message == "expected name":
		out.Message = fmt.Sprintf("expected a name, found %q", text.text[out.From:out.To])
	case strings.HasPrefix(fe.Message, "Operator ("):
		out.Message = "?? next to another operator needs parentheses"
	case strings.Contains(fe.Message, "strconv."):
		out.From, out.To = numberBefore(text.text, out.From)
		out.Message = text.text[out.From:out.To] + " is out of the range of numbers"
	case strings.HasPrefix(fe.Message, "unrecognized character"):
		out.Message = fmt.Sprintf("unexpected character %q", text.text[out.From:out.To])
	}
	return out
}

// numberBefore finds the number literal that ends at or before an offset: the
// parser notices its size only at the next token.
func numberBefore(src string, at int) (from, to int) {
	isPart := func(r rune) bool { return r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for at < len(src) && isPart(rune(src[at])) {
		at++
	}
	to = strings.LastIndexFunc(src[:at], isPart) + 1
	from = strings.LastIndexFunc(src[:to], func(r rune) bool { return !isPart(r) }) + 1
	if from >= to { // it is the token itself
		return at, len(src)
	}
	return from, to
}

// tokenHint explains tokens of other languages.
func tokenHint(token string) string {
	switch token {
	case "=", "is":
		return `; write == to compare`
	case "&":
		return `; write and`
	case "if":
		return `; write condition ? value : other`
	case ":":
		return `; write ({...}) for an object inside a predicate`
	}
	return ""
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	s, _, _ = strings.Cut(s, "\n")
	return strings.ToLower(s[:1]) + s[1:]
}
