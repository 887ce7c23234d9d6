// Where a list or map in brackets goes wrong: the YAML library names the line
// on which it starts.

package spec

import (
	"bytes"
	"strings"
)

// flowFault finds the first thing in brackets or quotes that can't be read, at
// most at an offset: what the library stumbled over.
func flowFault(src []byte, most int) (Span, string, bool) {
	s := &flowScan{src: src}
	s.all(most)
	return s.span, s.say, s.say != "" && s.span.From <= most
}

// flowScan reads lists and maps in brackets; say is set at the first fault.
type flowScan struct {
	src  []byte
	span Span
	say  string
	// questions are the places of question marks in texts without quotes.
	questions []int
}

// all reads whatever is in brackets or quotes up to an offset or a fault.
func (s *flowScan) all(most int) {
	for line := 0; line < len(s.src) && line <= most; {
		end := lineEnd(s.src, line)
		for at := s.valueStart(line, end); at >= 0 && at < len(s.src); at = s.valueStart(at, lineEnd(s.src, at)) {
			if at = s.node(at, true); s.say != "" {
				return
			}
			end = lineEnd(s.src, at)
		}
		line = s.nextLine(line, end)
	}
}

func (s *flowScan) fail(from, to int, say string) int {
	if s.say == "" {
		s.span, s.say = Span{from, to}, say
	}
	return len(s.src)
}

// valueStart is the first bracket or quote between two places of a line that
// begins a value of block style, or -1.
func (s *flowScan) valueStart(from, end int) int {
	for at := from; at < end; at++ {
		c := s.src[at]
		if c == '#' && (at == 0 || isBlank(s.src[at-1])) {
			return -1
		}
		if strings.IndexByte("{[\"'", c) >= 0 && s.begins(at) {
			return at
		}
	}
	return -1
}

// begins reports whether a value may begin at an offset: behind "key: ", "- ",
// or nothing.
func (s *flowScan) begins(at int) bool {
	before := at
	for before > 0 && isBlank(s.src[before-1]) {
		before--
	}
	if before == 0 || s.src[before-1] == '\n' {
		return true
	}
	return before < at && (s.src[before-1] == ':' || s.src[before-1] == '-')
}

// nextLine is the start of the line behind the one that begins and ends at
// two places; the lines of a block scalar are passed over.
func (s *flowScan) nextLine(start, end int) int {
	next := min(end+1, len(s.src))
	text := s.src[start:min(end, len(s.src))]
	if i := bytes.Index(text, []byte(" #")); i >= 0 {
		text = text[:i]
	}
	text = bytes.TrimRight(text, " \t\r+-0123456789")
	if !bytes.HasSuffix(text, []byte(" |")) && !bytes.HasSuffix(text, []byte(" >")) {
		return next
	}
	indent := indentOf(text)
	for next < len(s.src) {
		end := lineEnd(s.src, next)
		if line := s.src[next:end]; len(bytes.TrimSpace(line)) > 0 && indentOf(line) <= indent {
			break
		}
		next = min(end+1, len(s.src))
	}
	return next
}

// indentOf is the column of the first key of a line: dashes are indentation too.
func indentOf(line []byte) int {
	return len(line) - len(bytes.TrimLeft(line, " -"))
}

// node reads the value at an offset and returns where it ends.
func (s *flowScan) node(at int, block bool) int {
	switch c := s.src[at]; c {
	case '{', '[':
		end := s.collection(at)
		if block && s.say == "" {
			s.alone(at, end)
		}
		return end
	case '"', '\'':
		end := closeQuote(s.src, at, c)
		if end > len(s.src) || s.src[end-1] != c || end == at+1 {
			return s.fail(at, min(lineEnd(s.src, at), len(s.src)), "a quoted text is not closed before the end of the file")
		}
		if block {
			s.alone(at, end)
		}
		return end
	}
	return s.plain(at)
}

// alone reports text behind a value of block style in quotes or brackets.
func (s *flowScan) alone(from, end int) {
	line := lineEnd(s.src, end)
	if i := bytes.Index(s.src[end:line], []byte(" #")); i >= 0 {
		line = end + i
	}
	rest := bytes.TrimLeft(s.src[end:line], " \t")
	if len(rest) == 0 || rest[0] == ':' || rest[0] == '#' {
		return
	}
	say := afterBracket
	switch {
	case rest[0] == '}' || rest[0] == ']':
		s.fail(line-len(rest), line-len(rest)+1, "a closing bracket too many")
		return
	case bytes.HasPrefix(s.src[from:], []byte("{{")):
		say = asTemplate
	case s.src[from] == '"' || s.src[from] == '\'':
		say = afterQuote
	}
	s.fail(from, end+len(bytes.TrimRight(s.src[end:line], " \t")), say)
}

const (
	afterQuote   = "text behind the closing quote; put the whole value in quotes of the other kind"
	afterBracket = "text behind the closing bracket; put the whole value in quotes"
	needsQuotes  = "a value that holds brackets needs quotes inside { } and [ ]"
	needsComma   = "a comma is missing, or quotes: a value that holds a colon and a space needs them inside { } and [ ]"
	asTemplate   = "{{ begins a map in YAML; put the text in quotes"
)

// collection reads a list or map in brackets.
func (s *flowScan) collection(open int) int {
	shut := byte('}')
	if s.src[open] == '[' {
		shut = ']'
	}
	for at := open + 1; ; {
		if at = skipSpace(s.src, at); at >= len(s.src) {
			return s.unclosed(open, shut)
		}
		switch c := s.src[at]; {
		case c == shut:
			return at + 1
		case c == ',':
			at++
		case c == '}' || c == ']' || c == '-' && at+1 < len(s.src) && s.src[at+1] == ' ':
			return s.unclosed(open, shut)
		default:
			if at = s.entry(open, at, shut); s.say != "" {
				return at
			}
		}
	}
}

// unclosed reports a bracket without its counterpart, or the comment that has it.
func (s *flowScan) unclosed(open int, shut byte) int {
	line := s.src[open:lineEnd(s.src, open)]
	if i := bytes.Index(line, []byte(" #")); i >= 0 && bytes.IndexByte(line[i:], shut) >= 0 {
		return s.fail(open+i+1, open+i+2, "# behind a space begins a comment in YAML; put the text in quotes")
	}
	say := `a map in { } is not closed; expected "," or "}"`
	if shut == ']' {
		say = `a list in [ ] is not closed; expected "," or "]"`
	}
	return s.fail(open, open+1, say)
}

// entry reads `value` or `key: value` up to the comma or bracket behind it.
func (s *flowScan) entry(open, from int, shut byte) int {
	start := from
	at := s.node(from, false)
	if s.say == "" && s.colon(at, s.src[from] != '"' && s.src[from] != '\'') {
		if at = skipSpace(s.src, skipSpace(s.src, at)+1); at < len(s.src) && strings.IndexByte(",]}", s.src[at]) < 0 {
			start = at
			at = s.node(at, false)
		}
	}
	if s.say != "" {
		return at
	}
	next := skipSpace(s.src, at)
	if next >= len(s.src) || s.src[next] == shut || s.src[next] == ',' {
		return next
	}
	return s.misplaced(open, start, at, next, shut)
}

// colon reports whether a colon that ends a key follows.
func (s *flowScan) colon(at int, plain bool) bool {
	at = skipSpace(s.src, at)
	if at >= len(s.src) || s.src[at] != ':' {
		return false
	}
	return !plain || at+1 == len(s.src) || strings.IndexByte(" \t\r\n,[]{}", s.src[at+1]) >= 0
}

// misplaced says what is wrong with the text at next, behind a value that
// begins and ends at two places of the brackets that open.
func (s *flowScan) misplaced(open, start, end, next int, shut byte) int {
	c := s.src[next]
	switch {
	case bytes.HasPrefix(s.src[start:], []byte("{{")):
		return s.fail(start, s.valueEnd(start), asTemplate)
	case bytes.HasPrefix(s.src[start:], []byte("//")):
		return s.fail(start, lineEnd(s.src, start), "a comment begins with #")
	case bytes.IndexByte(s.src[start:next], '\n') >= 0 && strings.IndexByte("\"'{[", c) < 0:
		return s.unclosed(open, shut)
	case bytes.IndexByte(s.src[end:next], '\n') >= 0 || strings.IndexByte("\"'{", c) >= 0 && strings.IndexByte("\"'{[", s.src[start]) >= 0:
		return s.fail(next, next+1, "a comma is missing before this")
	case s.src[start] == '"' || s.src[start] == '\'':
		return s.fail(start, s.valueEnd(start), afterQuote)
	case c == '}' || c == ']':
		return s.unclosed(open, shut)
	case c == ':':
		return s.fail(start, s.valueEnd(start), needsComma)
	}
	return s.fail(start, s.valueEnd(start), needsQuotes)
}

// valueEnd is where a value that was not quoted seems to end: at the comma or
// bracket behind it, brackets in it aside.
func (s *flowScan) valueEnd(from int) int {
	depth, end := 0, lineEnd(s.src, from)
	for at := from; at < end; at++ {
		switch s.src[at] {
		case '{', '[', '(':
			depth++
		case ')':
			depth--
		case '}', ']':
			if depth--; depth < 0 {
				return at
			}
		case ',':
			if depth == 0 {
				return at
			}
		}
	}
	return end
}

// plain reads a text without quotes.
func (s *flowScan) plain(from int) int {
	end := from
	for at := from; at < len(s.src); at++ {
		c := s.src[at]
		if strings.IndexByte(",[]{}", c) >= 0 || c == '#' && isSpaceBefore(s.src, at) || c == ':' && s.colon(at, true) {
			break
		}
		if c == '?' && at > from {
			s.questions = append(s.questions, at)
		}
		if !isBlank(c) && c != '\n' && c != '\r' {
			end = at + 1
		}
	}
	return end
}
