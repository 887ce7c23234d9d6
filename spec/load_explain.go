// The YAML library's messages in words that say what to do.

package spec

import (
	"fmt"
	"regexp"
	"strings"
)

// explain words a syntax error. line is what the library said (0: nothing), pos
// is where it stopped reading, a few bytes behind the problem.
func explain(file *File, message string, line, pos int) Diagnostic {
	src := file.Src
	span := trimmedLine(file, pos)
	if span.From == span.To { // an empty line: the problem is above
		for pos > 0 && (pos >= len(src) || strings.IndexByte(" \t\r\n", src[pos]) >= 0) {
			pos--
		}
		span = trimmedLine(file, pos)
	}
	switch {
	case strings.Contains(message, "cannot start any token"):
		return badStart(file, span)
	case strings.Contains(message, "found a tab character"):
		return badStart(file, span)
	case strings.HasPrefix(message, "unknown anchor"):
		return unknownAnchor(file, message, span)
	case strings.Contains(message, "could not find expected ':'"):
		if line > 0 && line <= len(file.lines) {
			span = trimmedLine(file, file.lines[line-1])
		}
		return syntaxError(file, span, "a key without a value; expected \"key: value\"")
	}
	if at, say, found := oddText(file, message, span); found {
		return syntaxError(file, at, say)
	}
	if strings.Contains(message, "mapping values are not allowed") {
		if d, found := tooFarIn(file, span); found {
			return d
		}
	}
	if strings.Contains(message, "did not find expected") || strings.Contains(message, "unexpected end of stream") {
		if at, say, found := flowFault(src, lineEnd(src, min(pos+1, len(src)))); found {
			return syntaxError(file, at, say)
		}
	}
	if strings.Contains(message, "unexpected end of stream") {
		return openQuote(file, line, span)
	}
	for _, e := range explanations() {
		if strings.Contains(message, e.found) {
			return syntaxError(file, span, e.say)
		}
	}
	return syntaxError(file, span, message)
}

type explanation struct{ found, say string }

func explanations() []explanation {
	return []explanation{
		{"mapping values are not allowed", "a second \": \" on the line or a wrong indentation; quote a text that holds a colon and a space"},
		{"did not find expected key", "the indentation fits no map above; expected another \"key: value\" of the same indentation"},
		{"did not find expected '-' indicator", "the indentation fits no list above; expected another \"- item\""},
		{"did not find expected ',' or ']'", "a list in [ ] is not closed; expected \",\" or \"]\""},
		{"did not find expected ',' or '}'", "a map in { } is not closed; expected \",\" or \"}\""},
		{"did not find expected node content", "a value is missing here; close every bracket, and quote a text that starts with one of , [ ] { }"},
		{"unknown escape character", "an unknown escape in double quotes; use single quotes for a text with backslashes"},
		{"invalid Unicode character escape", "an escape of half a surrogate pair; write the character itself or \\UHHHHHHHH"},
		{"block sequence entries are not allowed", "a list item \"- \" is not allowed here; put the list on the lines below its key"},
		{"incompatible YAML document", "a YAML version that is not supported; expected 1.1 or 1.2, or no %YAML line"},
	}
}

// badStart explains a character that can't begin anything: most often a tab.
func badStart(file *File, line Span) Diagnostic {
	start := file.lines[file.Position(line.From).Line-1]
	indent := string(file.Src[start:line.From])
	if i := strings.IndexByte(indent, '\t'); i >= 0 {
		return syntaxError(file, Span{start + i, start + i + 1}, "a tab in the indentation; use spaces")
	}
	text := string(file.Src[line.From:line.To])
	for i, c := range text {
		begins := i == 0 || strings.IndexByte(" \t[{,", text[i-1]) >= 0
		if begins && strings.ContainsRune("@`%", c) {
			at := line.From + i
			return syntaxError(file, Span{at, at + 1}, fmt.Sprintf("%q can't begin a text; put the text in quotes", c))
		}
	}
	if i := strings.IndexByte(text, '\t'); i >= 0 {
		return syntaxError(file, Span{line.From + i, line.From + i + 1}, "a tab where a value starts; use spaces")
	}
	return syntaxError(file, line, "a character that can't begin a value; put the text in quotes")
}

// tooFarIn explains a key that is indented deeper than the one above it, which
// has a value already.
func tooFarIn(file *File, line Span) (d Diagnostic, found bool) {
	number := file.Position(line.From).Line
	text := file.Line(number)
	keyWord := regexp.MustCompile(`^( *(?:- )?)([A-Za-z_][\w-]*):(?: (.*))?$`)
	word := keyWord.FindStringSubmatch(text)
	if word == nil || number < 2 || strings.Contains(word[1], "-") {
		return Diagnostic{}, false
	}
	above := keyWord.FindStringSubmatch(file.Line(number - 1))
	if above == nil || len(above[1]) >= len(word[1]) || strings.TrimSpace(above[3]) == "" {
		return Diagnostic{}, false
	}
	from := line.From - len(word[1]) + len(above[1])
	d = syntaxError(file, Span{from, line.From + len(word[2])}, fmt.Sprintf(
		"%q is indented by %d spaces, the key %q above it by %d; keys of one map begin in one column", word[2], len(word[1]), above[2], len(above[1]),
	))
	d.Suggestion = word[2]
	d.Message += "; write " + word[2] + " right below it"
	return d, true
}

// unknownAnchor points to the alias whose name is no anchor.
func unknownAnchor(file *File, message string, line Span) Diagnostic {
	name := ""
	if parts := strings.Split(message, "'"); len(parts) == 3 {
		name = parts[1]
	}
	at := strings.LastIndex(string(file.Src[:line.To]), "*"+name)
	if name != "" && at >= 0 {
		line = Span{at, at + 1 + len(name)}
	}
	return syntaxError(file, line, fmt.Sprintf("the alias %q has no anchor above it; anchors are written &name", "*"+name))
}

// openQuote explains a quoted text that the file's end cuts off.
func openQuote(file *File, line int, last Span) Diagnostic {
	if line > 0 && line < len(file.lines) {
		last = trimmedLine(file, file.lines[line-1])
	}
	return syntaxError(file, last, "a quoted text is not closed before the end of the file")
}

// oddText finds what the library names only the line of: an escape, a sign that
// begins an alias, a colon without a space.
func oddText(file *File, message string, line Span) (at Span, say string, found bool) {
	pattern := ""
	switch {
	case strings.Contains(message, "unknown escape character"):
		pattern, say = `\\[^0abtnvfre "/\\N_LPxuU\t]`, "an unknown escape in double quotes; use single quotes for a text with backslashes"
	case strings.Contains(message, "alphabetic or numeric character"):
		pattern, say = `[*&][^\s,\]}]*`, "* begins an alias and & an anchor in YAML; put the text in quotes"
	case strings.Contains(message, "mapping values are not allowed"):
		number := file.Position(line.From).Line
		if number < 2 {
			return Span{}, "", false
		}
		line = trimmedLine(file, file.lines[number-2])
		pattern, say = `^(- )*[A-Za-z_][\w-]*:[^\s:/]`, "a colon needs a space behind it"
	default:
		return Span{}, "", false
	}
	place := regexp.MustCompile(pattern).FindIndex(file.Src[line.From:line.To])
	if place == nil {
		return Span{}, "", false
	}
	return Span{line.From + place[0], line.From + place[1]}, say, true
}
