// The YAML library's messages in words that say what to do.

package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// explanation words a message of the library. Where it has a pattern, the line must
// match, and the finding is about its group.
type explanation struct {
	message, pattern, say string
	// opens: it is about the line that the library names, on which a list, map or text
	// begins, and not about the one where it stopped.
	opens bool
}

// explanations are tried in order.
var explanations = []explanation{
	{`cannot start any token|found a tab character`, `^ *(\t)`, "a tab in the indentation; use spaces", false},
	{`cannot start any token`, "(?:^|[ \t\\[{,])([@`%])", "'%s' can't begin a text; put the text in quotes", false},
	{`cannot start any token|found a tab character`, `(\t)`, "a tab where a value starts; use spaces", false},
	{`cannot start any token|found a tab character`, ``, "a character that can't begin a value; put the text in quotes", false},
	{`unknown escape character`, `(\\[^0abtnvfre "/\\N_LPxuU\t])`, "an unknown escape in double quotes; use single quotes for a text with backslashes", false},
	{`alphabetic or numeric character`, `([*&][^\s,\]}]*)`, "* begins an alias and & an anchor in YAML; put the text in quotes", false},
	{`did not find expected`, `[:,] .* (#).*[\]}]\s*$`, "# behind a space begins a comment in YAML; put the text in quotes", false},
	{`did not find expected|mapping values are not allowed`, `[:,\[] *({{.*?}}(?:[^,}\]#]*[^,}\]#\s])?)`, "{{ begins a map in YAML; put the text in quotes", false},
	{`did not find expected ',' or`, `: +((?:'[^']*'|"[^"]*")\s*[^\s#:,}\]][^,}]*)`, "text behind the closing quote; put the whole value in quotes of the other kind", false},
	{`did not find expected ',' or`, `: +([^\s,{}\[\]"'][^,{}\[\]"']*\[[^\]]*\])`, "a value that holds brackets needs quotes inside { } and [ ]", false},
	{`did not find expected ',' or`, `: +([^\s,{}\[\]"'][^,{}\[\]"']*: [^,}]*)`, "a comma is missing, or quotes: a value that holds a colon and a space needs them inside { } and [ ]", false},
	{`did not find expected key`, `^[^#]*: *[\[{].*[\]}] *([\]}])\s*(?: #.*)?$`, "a closing bracket too many", false},
	{`did not find expected key`, `: +((?:'[^']*'|"[^"]*")\s*[^\s#:,}\]].*?)\s*(?: #.*)?$`, "text behind the closing quote; put the whole value in quotes of the other kind", false},
	{`did not find expected key`, `: +(\[[^\]]*\]\s*[^\s#:,}\]].*?)\s*(?: #.*)?$`, "text behind the closing bracket; put the whole value in quotes", false},
	{`mapping values are not allowed`, ``, "a second \": \" on the line or a wrong indentation; quote a text that holds a colon and a space", false},
	{`did not find expected key`, ``, "the indentation fits no map above; expected another \"key: value\" of the same indentation", false},
	{`did not find expected '-' indicator`, ``, "the indentation fits no list above; expected another \"- item\"", false},
	{`did not find expected ',' or ']'`, `(\[)[^\[\]]*$|$`, "a list in [ ] is not closed; expected \",\" or \"]\"; a text that holds brackets or a colon and a space needs quotes", true},
	{`did not find expected ',' or '}'`, `(\{)[^{}]*$|$`, "a map in { } is not closed; expected \",\" or \"}\"; a text that holds brackets or a colon and a space needs quotes", true},
	{`did not find expected node content`, `([\[{])[^\[\]{}]*$|$`, "a value is missing here; close every bracket, and quote a text that starts with one of , [ ] { }", false},
	{`unexpected end of stream`, `(["'][^"']*)$|$`, "a quoted text is not closed before the end of the file", true},
	{`could not find expected ':'`, ``, "a key without a value; expected \"key: value\"", true},
	{`invalid Unicode character escape`, ``, "an escape of half a surrogate pair; write the character itself or \\UHHHHHHHH", false},
	{`block sequence entries are not allowed`, ``, "a list item \"- \" is not allowed here; put the list on the lines below its key", false},
	{`incompatible YAML document`, ``, "a YAML version that is not supported; expected 1.1 or 1.2, or no %YAML line", false},
}

// keyLine is a line with a key: what stands before it, the key, its value.
var keyLine = regexp.MustCompile(`^( *(?:- )*)([A-Za-z_][\w-]*):(.*)$`)

// explain words a syntax error. line is what the library said (0: nothing), pos
// is where it stopped reading, a few bytes behind the problem.
func explain(file *File, message string, line, pos int) Diagnostic {
	var fault *json.SyntaxError
	if start := bytes.TrimLeft(file.Src, " \t\r\n"); bytes.HasPrefix(start, []byte("{")) && errors.As(json.Unmarshal(start, new(any)), &fault) && bytes.HasPrefix(bytes.TrimLeft(start[1:], " \t\r\n"), []byte(`"`)) {
		at := min(len(file.Src)-len(start)+int(fault.Offset), len(file.Src))
		return syntaxError(file, Span{max(0, at-1), at}, fault.Error())
	}
	number := file.Position(pos).Line
	for number > 1 && strings.TrimSpace(file.Line(number)) == "" {
		number-- // an empty line: the problem is above
	}
	if strings.Contains(message, "did not find expected ',' or") {
		line++ // it counts lines from 0
	}
	if name, isAnchor := strings.CutPrefix(message, "unknown anchor "); isAnchor {
		name = "*" + strings.Trim(strings.Fields(name)[0], "'")
		at := max(0, bytes.LastIndex(file.Src[:lineEnd(file.Src, file.lines[number-1])], []byte(name)))
		return syntaxError(file, Span{at, at + len(name)}, fmt.Sprintf("the alias %q has no anchor above it; anchors are written &name", name))
	}
	if number > 1 && strings.Contains(message, "mapping values are not allowed") {
		if d, found := explainIndent(file, number); found {
			return d
		}
	}
	for _, e := range explanations {
		if !regexp.MustCompile(e.message).MatchString(message) {
			continue
		}
		if e.opens && line > 0 && line <= len(file.lines) {
			number = line
		}
		start := file.lines[number-1]
		at := regexp.MustCompile(e.pattern).FindStringSubmatchIndex(file.Line(number))
		switch {
		case at == nil:
		case len(at) < 4 || at[2] < 0:
			return syntaxError(file, trimmedLine(file, start), e.say)
		default:
			span := Span{start + at[2], start + at[3]}
			return syntaxError(file, span, strings.ReplaceAll(e.say, "%s", string(file.Src[span.From:span.To])))
		}
	}
	return syntaxError(file, trimmedLine(file, file.lines[number-1]), message)
}

// explainIndent explains a line that the library reads as a second value of the key
// above it: a colon without a space there, or a deeper indentation.
func explainIndent(file *File, number int) (d Diagnostic, found bool) {
	key, above := keyLine.FindStringSubmatch(file.Line(number)), keyLine.FindStringSubmatch(file.Line(number-1))
	switch {
	case above == nil:
		return Diagnostic{}, false
	case above[3] != "" && strings.IndexByte(" \t:/", above[3][0]) < 0:
		at := file.lines[number-2] + len(above[1])
		return syntaxError(file, Span{at, at + len(above[2]) + 2}, "a colon needs a space behind it"), true
	case key == nil || strings.Contains(key[1], "-") || len(above[1]) >= len(key[1]) || strings.TrimSpace(above[3]) == "":
		return Diagnostic{}, false
	}
	at := file.lines[number-1]
	d = syntaxError(file, Span{at + len(above[1]), at + len(key[1]) + len(key[2])}, fmt.Sprintf(
		"%q is indented by %d spaces, the key %q above it by %d; keys of one map begin in one column; write %s right below it",
		key[2], len(key[1]), above[2], len(above[1]), key[2],
	))
	d.Suggestion = key[2]
	return d, true
}
