// Loading of YAML or JSON text into a tree of values.

package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing/iotest"
	"unicode/utf16"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/internal/lazyregexp"
)

// Limits of a file. Graphs that people write stay far below them.
const (
	maxFileSize = 64 << 20 // bytes
	maxDepth    = 100      // nested lists and maps
	maxExpanded = 100_000  // values that aliases and merge keys add
)

// graphFile describes graph files in findings.
const graphFile = "a graph file is a map with the keys graphrun, name, start and nodes"

// loadMap works like loadDocument for a file that must be a map.
func loadMap(file *File, what string) (*Value, Diagnostics) {
	root, diags := loadDocument(file, what)
	if root != nil && root.Kind != Map {
		return nil, append(diags, syntaxError(file, root.Span, fmt.Sprintf("the file holds %s; %s", describeValue(root), what)))
	}
	return root, diags
}

// loadDocument reads the only document of a file, or returns nil. what describes such a file in findings.
func loadDocument(file *File, what string) (*Value, Diagnostics) {
	if d, bad := checkText(file); bad {
		return nil, Diagnostics{d}
	}
	if root := loadPieces(file, pieceSize); root != nil {
		return root, nil
	}
	docs, read, err := readYAML(file.Src)
	if err != nil {
		return nil, Diagnostics{locateError(file, read, err)}
	}
	if len(docs) == 0 || len(docs[0].Content) == 0 {
		return nil, Diagnostics{syntaxError(file, Span{}, "the file is empty; "+what)}
	}
	c := &converter{reporter: reporter{file: file}}
	if len(docs) > 1 {
		at := c.offset(docs[1].Line, docs[1].Column)
		return nil, Diagnostics{syntaxError(file, trimLine(file, at), "a second document starts here; a file holds one")}
	}
	var root Value
	c.convert(docs[0].Content[0], &root)
	if c.refused {
		return nil, c.diags
	}
	return &root, c.diags
}

func syntaxError(file *File, span Span, message string) Diagnostic {
	return Diagnostic{File: cmp.Or(file.host, file), Rule: "syntax", Severity: Error, Span: file.InHost(span), Message: message}
}

// checkText returns a finding about the first bytes of a file that are not text.
func checkText(file *File) (Diagnostic, bool) {
	src := file.Src
	if len(src) > maxFileSize {
		return syntaxError(file, Span{}, fmt.Sprintf("the file has %d bytes; at most %d are read", len(src), maxFileSize)), true
	}
	if bytes.HasPrefix(src, []byte{0xFF, 0xFE}) || bytes.HasPrefix(src, []byte{0xFE, 0xFF}) {
		return syntaxError(file, Span{0, 2}, "the file is UTF-16; save it as UTF-8"), true
	}
	for i := 0; i < len(src); {
		c := src[i]
		if c >= 0x20 && c < 0x7F || c == '\n' || c == '\t' || c == '\r' && (file.host != nil || lineBreak(src, i) > 0) {
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			return syntaxError(file, Span{i, i + 1}, fmt.Sprintf("the byte 0x%02X is not UTF-8; save the file as UTF-8", c)), true
		}
		isBreak := r == 0x85 || r == 0x2028 || r == 0x2029 // in YAML 1.1
		if isBreak && file.host == nil || !isBreak && (r < 0xA0 || r == 0xFFFE || r == 0xFFFF) {
			message := fmt.Sprintf("the control character U+%04X is not allowed", r)
			if file.host == nil {
				message += "; in double quotes it can be written as an escape"
			}
			return syntaxError(file, Span{i, i + size}, message), true
		}
		i += size
	}
	return Diagnostic{}, false
}

// decodeYAML reads at most two documents. It recovers from panics of the library.
func decodeYAML(r io.Reader) (docs []*yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: the text can't be read: %v", r)
		}
	}()
	decoder := yaml.NewDecoder(r)
	for len(docs) < 2 {
		doc := new(yaml.Node)
		if err := decoder.Decode(doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// readYAML works like decodeYAML, but first replaces syntax that YAML 1.2 and JSON allow and the
// library refuses. read is the text after replacements, which keep all lines and columns.
func readYAML(text []byte) (docs []*yaml.Node, read []byte, err error) {
	read = replaceEscapes(text)
	docs, err = decodeYAML(bytes.NewReader(read))
	if err == nil || !questionMark.Get().Match(read) || bytes.Contains(text, []byte(hiddenMark)) {
		return docs, read, err
	}
	read = questionMark.Get().ReplaceAllFunc(read, func(s []byte) []byte { return bytes.ReplaceAll(s, []byte("?"), []byte(hiddenMark)) })
	docs, err = decodeYAML(bytes.NewReader(read))
	restoreMarks(docs)
	return docs, read, err
}

const (
	hiddenMark    = "\uE802" // replaces a question mark while the library reads
	byteOrderMark = "\ufeff"
)

var (
	// questionMark matches question marks that do not begin a key, as in {prompt: Really?}.
	questionMark = lazyregexp.New(`(?:[^\s,\[{:-][ \t]+|[^\s,\[{])\?+`)
	jsonStart    = lazyregexp.New(`^\s*\{\s*"`)
	jsonString   = lazyregexp.New(`"(?:\\.|[^"\\])*"`)
	jsonEscape   = lazyregexp.New(`\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\.`)
)

// replaceEscapes replaces the two escapes of JSON that the library refuses: \/ and pairs of
// surrogates. It adds blanks after a string, so that the text after it keeps its column.
func replaceEscapes(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\/`)) && !bytes.Contains(text, []byte(`\ud`)) && !bytes.Contains(text, []byte(`\uD`)) || !json.Valid(text) {
		return text
	}
	return jsonString.Get().ReplaceAllFunc(text, func(s []byte) []byte {
		out := jsonEscape.Get().ReplaceAllFunc(s, func(escape []byte) []byte {
			switch {
			case len(escape) == 12:
				high, _ := strconv.ParseUint(string(escape[2:6]), 16, 32)
				low, _ := strconv.ParseUint(string(escape[8:]), 16, 32)
				return fmt.Appendf(nil, `\U%08X`, utf16.DecodeRune(rune(high), rune(low)))
			case escape[1] == '/':
				return []byte("/")
			}
			return escape
		})
		return append(out, bytes.Repeat([]byte(" "), len(s)-len(out))...)
	})
}

func restoreMarks(nodes []*yaml.Node) {
	for _, n := range nodes {
		n.Value = strings.ReplaceAll(n.Value, hiddenMark, "?")
		restoreMarks(n.Content)
	}
}

// locateError turns an error of the YAML library into a finding. The library names the line where
// the surrounding list or map starts, or no line. The finding is where the library stopped reading.
func locateError(file *File, read []byte, err error) Diagnostic {
	line, message := splitErrorLine(err)
	if strings.HasPrefix(message, "exceeded max depth") {
		return newDepthFinding(file, 0)
	}
	rest := bytes.NewReader(read) // reading single bytes shows where the library stops
	if _, again := decodeYAML(iotest.OneByteReader(rest)); again == nil {
		return syntaxError(file, Span{}, message)
	}
	before := read[:max(len(read)-rest.Len()-1, 0)]
	// The library may also have read the line after the problem.
	above := before[:bytes.LastIndexByte(before, '\n')+1]
	if _, again := decodeYAML(bytes.NewReader(above)); again != nil {
		if _, same := splitErrorLine(again); same == message {
			before = above[:len(above)-1]
		}
	}
	return explainError(file, message, line, 1+bytes.Count(before, []byte("\n")))
}

// splitErrorLine splits an error of the library into the line, or 0, and the message.
func splitErrorLine(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if n, scanErr := fmt.Sscanf(message, "line %d: ", &line); n == 1 && scanErr == nil {
		_, message, _ = strings.Cut(message, ": ")
	}
	return line, message
}

// newDepthFinding returns the finding for nesting beyond the limit.
func newDepthFinding(file *File, at int) Diagnostic {
	return syntaxError(file, Span{at, min(at+1, len(file.Src))}, fmt.Sprintf("lists and maps are nested more than %d levels deep; at most %d are allowed", maxDepth, maxDepth))
}

// trimLine returns the span of the text on the line of an offset.
func trimLine(file *File, at int) Span {
	line := file.Position(at).Line
	text := file.Line(line)
	trimmed := strings.TrimLeft(text, " \t\ufeff")
	from := file.lines[line-1] + len(text) - len(trimmed)
	return Span{from, from + len(strings.TrimRight(trimmed, " \t"))}
}

// explanation replaces a message of the library if a line matches a pattern. The pattern's group is the
// span of the finding. With opens, the line is the one where the list, map or text begins.
type explanation struct {
	message, pattern, text string
	opens                  bool
}

// explanations lists the explanations. The first match wins.
var explanations = []explanation{
	{`cannot start any token|found a tab character`, `^ *(\t)`, "a tab in the indentation; use spaces", false},
	{`cannot start any token`, "(?:^|[ \t\\[{,])([@`%])", "'%s' can't begin a text; put the text in quotes", false},
	{`cannot start any token|found a tab character`, ``, "a character that can't begin a value; put the text in quotes", false},
	{`unknown escape character`, `(\\[^0abtnvfre "/\\N_LPxuU\t])`, "an unknown escape in double quotes; use single quotes for a text with backslashes", false},
	{`alphabetic or numeric character`, `([*&][^\s,\]}]*)`, "* begins an alias and & an anchor in YAML; put the text in quotes", false},
	{`did not find expected`, `[:,] .* (#).*[\]}]\s*$`, "# behind a space begins a comment in YAML; put the text in quotes", false},
	{`did not find expected|mapping values are not allowed`, `[:,\[] *({{.*?}}(?:[^,}\]#]*[^,}\]#\s])?)`, "{{ begins a map in YAML; put the text in quotes", false},
	{`did not find expected (',' or|key)`, `: +((?:'[^']*'|"[^"]*") *[^\s#:,}\]][^,}\]]*?)\s*(?:[,}\]].*|#.*)?$`, "text behind the closing quote; put the whole value in quotes of the other kind", false},
	{`did not find expected ',' or`, `: +([^\s,{}\[\]"'][^,{}\[\]"']*\[[^\]]*\])`, "a value that holds brackets needs quotes inside { } and [ ]", false},
	{`did not find expected ',' or`, `: +([^\s,{}\[\]"'][^,{}\[\]"']*: [^,}]*)`, "a comma is missing, or quotes: a value that holds a colon and a space needs them inside { } and [ ]", false},
	{`did not find expected key`, `^[^#]*: *[\[{].*[\]}] *([\]}])\s*(?: #.*)?$`, "a closing bracket too many", false},
	{`did not find expected key`, `: +(\[[^\]]*\]\s*[^\s#:,}\]].*?)\s*(?: #.*)?$`, "text behind the closing bracket; put the whole value in quotes", false},
	{`mapping values are not allowed`, `^ *(?:- )*[\w-]+:(?: [^:]*)?$`, "the line is indented deeper than the key above it; keys of one map begin in one column", false},
	{`mapping values are not allowed`, ``, "a second \": \" on the line or a wrong indentation; quote a text that holds a colon and a space", false},
	{`did not find expected key`, ``, "the indentation fits no map above; expected another \"key: value\" of the same indentation", false},
	{`did not find expected '-' indicator`, ``, "the indentation fits no list above; expected another \"- item\"", false},
	{`did not find expected ',' or ']'`, `(\[)[^\[\]]*$|$`, "a list in [ ] is not closed; expected \",\" or \"]\"; a text that holds brackets or a colon and a space needs quotes", true},
	{`did not find expected ',' or '}'`, `(\{)[^{}]*$|$`, "a map in { } is not closed; expected \",\" or \"}\"; a text that holds brackets or a colon and a space needs quotes", true},
	{`did not find expected node content`, `([\[{])[^\[\]{}]*$|$`, "a value is missing here; close every bracket, and quote a text that starts with one of , [ ] { }", false},
	{`unexpected end of stream`, `(["'][^"']*)$|$`, "a quoted text is not closed before the end of the file", true},
	{`block sequence entries are not allowed`, ``, "a list item \"- \" is not allowed here; put the list on the lines below its key", false},
	{`could not find expected ':'`, ``, "a key without a value; expected \"key: value\"", true},
}

// gluedKey matches a line with a key whose colon touches its value.
var gluedKey = lazyregexp.New(`^ *(?:- )*([A-Za-z_][\w-]*:[^\s:/])`)

// explainError returns the finding about a syntax error. line is the line that the library named, or 0.
// number is the line where it stopped reading, a few bytes after the problem.
func explainError(file *File, message string, line, number int) Diagnostic {
	var fault *json.SyntaxError
	if jsonStart.Get().Match(file.Src) && errors.As(json.Unmarshal(file.Src, new(any)), &fault) {
		at := min(int(fault.Offset), len(file.Src))
		return syntaxError(file, Span{max(0, at-1), at}, fault.Error())
	}
	for number > 1 && strings.TrimSpace(file.Line(number)) == "" {
		number-- // the problem is above an empty line
	}
	if strings.Contains(message, "did not find expected ',' or") {
		line++ // here the library counts lines from 0
	}
	if name, isAnchor := strings.CutPrefix(message, "unknown anchor "); isAnchor {
		name = "*" + strings.Trim(strings.Fields(name)[0], "'")
		at := max(0, bytes.LastIndex(file.Src[:lineEnd(file.Src, file.lines[number-1])], []byte(name)))
		return syntaxError(file, Span{at, at + len(name)}, fmt.Sprintf("the alias %q has no anchor above it; anchors are written &name", name))
	}
	if at := gluedKey.Get().FindStringSubmatchIndex(file.Line(number - 1)); at != nil && strings.Contains(message, "mapping values are not allowed") {
		start := file.lines[number-2]
		return syntaxError(file, Span{start + at[2], start + at[3]}, "a colon needs a space behind it")
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
			return syntaxError(file, trimLine(file, start), e.text)
		default:
			span := Span{start + at[2], start + at[3]}
			return syntaxError(file, span, strings.ReplaceAll(e.text, "%s", string(file.Src[span.From:span.To])))
		}
	}
	return syntaxError(file, trimLine(file, file.lines[number-1]), message)
}

// blockKey and flowKey match the key that makes a text a graph file.
var (
	blockKey = lazyregexp.New(`(?m)^\x{feff}?(?:graphrun|"graphrun"|'graphrun')[ \t]*:(?:\s|$)`)
	flowKey  = lazyregexp.New(`(?s)^\x{feff}?\s*\{(?:.*[{,])?\s*(?:graphrun|"graphrun"|'graphrun')\s*:`)
)

// IsGraph reports whether a text has the top-level key "graphrun", even if it has syntax errors.
func IsGraph(src []byte) bool {
	if blockKey.Get().Match(src) {
		return true
	}
	if !bytes.Contains(src, []byte("graphrun")) {
		return false
	}
	root, _ := loadMap(NewFile("", src), "")
	return root.Get("graphrun") != nil || root == nil && flowKey.Get().Match(src)
}
