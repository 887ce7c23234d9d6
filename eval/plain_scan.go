// The words of a plain expression, as the library's lexer finds them.

package eval

import (
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
)

// token is a word of the source; its place counts characters, as the library does.
type token struct {
	kind tokenKind
	text string // of a string, what is between the quotes
	at   file.Location
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenNumber
	tokenString
	tokenSign // operators, words such as "in" among them, and brackets
)

// scan splits the source into tokens; not ok when there is one that isn't plain.
func (p *plainParser) scan(src string) (ok bool) {
	wide := 0 // bytes so far that are no character of their own
	for i := 0; i < len(src); {
		ch := src[i]
		if ch == ' ' || ch >= '\t' && ch <= '\r' {
			i++
			continue
		}
		t, n := token{}, 0
		switch {
		case isNameByte(ch) && !isDigit(ch):
			t, n = scanName(src[i:])
		case isDigit(ch):
			t, n = scanNumber(src[i:])
		case ch == '\'' || ch == '"':
			t, n = scanText(src[i:])
		default:
			t, n = scanSign(src[i:])
		}
		if n == 0 {
			return false
		}
		t.at.From = i - wide
		if t.kind == tokenString {
			wide += len(t.text) - utf8.RuneCountInString(t.text)
		}
		i += n
		t.at.To = i - wide
		p.tokens = append(p.tokens, t)
	}
	end := len(src) - wide
	p.tokens = append(p.tokens, token{kind: tokenEnd, at: file.Location{From: max(end-1, 0), To: end}})
	return true
}

func isNameByte(b byte) bool {
	return b == '_' || b == '$' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || isDigit(b)
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// scanName reads a name, or an operator that is a word.
func scanName(src string) (token, int) {
	n := 1
	for n < len(src) && isNameByte(src[n]) {
		n++
	}
	if n < len(src) && (src[n] >= utf8.RuneSelf || n == 1 && (src[n] == '\'' || src[n] == '"')) {
		return token{}, 0 // a longer name, or b'bytes'
	}
	word := src[:n]
	switch word {
	case "let", "if", "else":
		return token{}, 0
	case "not", "in", "or", "and", "matches", "contains", "startsWith", "endsWith":
		return token{kind: tokenSign, text: word}, n
	}
	return token{kind: tokenName, text: word}, n
}

// scanNumber reads 12 and 1.5.
func scanNumber(src string) (token, int) {
	n := digits(src)
	if n > 15 {
		return token{}, 0
	}
	if n+1 < len(src) && src[n] == '.' && isDigit(src[n+1]) {
		n += 1 + digits(src[n+1:])
	}
	if n < len(src) && (isNameByte(src[n]) || src[n] == '.' || src[n] >= utf8.RuneSelf) {
		return token{}, 0
	}
	return token{kind: tokenNumber, text: src[:n]}, n
}

func digits(src string) int {
	n := 0
	for n < len(src) && isDigit(src[n]) {
		n++
	}
	return n
}

// scanText reads a string without escapes.
func scanText(src string) (token, int) {
	end := strings.IndexByte(src[1:], src[0]) + 1
	if end == 0 {
		return token{}, 0
	}
	text := src[1:end]
	if strings.ContainsAny(text, "\\\r\n") || !utf8.ValidString(text) {
		return token{}, 0
	}
	return token{kind: tokenString, text: text}, end + 1
}

// scanSign reads an operator or a bracket. Two signs belong together where the
// library takes them so, even where that makes no operator.
func scanSign(src string) (token, int) {
	var more byte // what follows
	if len(src) > 1 {
		more = src[1]
	}
	n := 1
	switch src[0] {
	case '(', ')', '[', ']', ',', '%', '+', '-', '^':
	case '&', '!', '=', '*', '<', '>':
		if more == '&' || more == '=' || more == '*' {
			n = 2
		}
	case '?':
		if more == '.' || more == '?' {
			n = 2
		}
	case '|':
		if n = 2; more != '|' {
			return token{}, 0
		}
	case '/':
		if more == '/' || more == '*' {
			return token{}, 0
		}
	case ':':
		if more == ':' {
			return token{}, 0
		}
	case '.':
		if more == '.' || isDigit(more) {
			return token{}, 0
		}
	default:
		return token{}, 0
	}
	return token{kind: tokenSign, text: src[:n]}, n
}
