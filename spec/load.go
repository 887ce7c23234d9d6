// Reading YAML or JSON text into a tree of values, and what may go wrong there.

package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// What a file may cost. A person's graph is far below each of them.
const (
	maxFileSize = 64 << 20 // bytes
	maxDepth    = 100      // nested lists and maps
	maxExpanded = 100_000  // values that aliases add to those that are written
)

// graphFile says what a graph file is, in findings.
const graphFile = "a graph file is a map with the keys graphrun, name, start and nodes"

// load reads the file's only document, a map; what says which. A nil value comes
// with at least one finding.
func load(file *File, what string) (*Value, Diagnostics) {
	root, diags := loadAny(file, what)
	if root != nil && root.Kind != Map {
		return nil, append(diags, syntaxError(file, root.Span, fmt.Sprintf("the file holds %s; %s", describe(root), what)))
	}
	return root, diags
}

// loadAny reads the file's only document, of any shape.
func loadAny(file *File, what string) (*Value, Diagnostics) {
	if d, bad := checkText(file); bad {
		return nil, Diagnostics{d}
	}
	text, moved := plainJSON(file.Src)
	text, doc, next, err := decodeGraph(text)
	if err != nil {
		return nil, Diagnostics{locate(file, text, err)}
	}
	if doc == nil || len(doc.Content) == 0 {
		return nil, Diagnostics{syntaxError(file, Span{}, "the file is empty; "+what)}
	}
	c := newConverter(file, text, moved)
	if next != nil {
		at := c.offset(next.Line, next.Column)
		return nil, Diagnostics{syntaxError(file, trimmedLine(file, at), "a second document starts here; a file holds one")}
	}
	var root Value
	c.convert(doc.Content[0], &root)
	if c.refused {
		return nil, c.diags
	}
	return &root, c.diags
}

func syntaxError(file *File, span Span, message string) Diagnostic {
	return Diagnostic{File: file, Rule: "syntax", Severity: Error, Span: span, Message: message}
}

// decodeYAML reads the first document and says where a second one starts. The
// YAML library panics on some input of which it says itself that it can't happen.
func decodeYAML(r io.Reader) (doc, next *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: the text can't be read: %v", r)
		}
	}()
	decoder := yaml.NewDecoder(r)
	doc = new(yaml.Node)
	if err := decoder.Decode(doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil, nil
		}
		return nil, nil, err
	}
	next = new(yaml.Node)
	switch err := decoder.Decode(next); {
	case errors.Is(err, io.EOF):
		return doc, nil, nil
	case err != nil:
		return nil, nil, err
	}
	return doc, next, nil
}

// decodeGraph reads a text like decodeYAML, and texts in brackets with question marks,
// as {prompt: Really?}: YAML 1.2 allows these, the library takes each for the sign of a
// key. If it fails, another character stands for them in the text that it reads.
func decodeGraph(text []byte) (read []byte, doc, next *yaml.Node, err error) {
	doc, next, err = decodeYAML(bytes.NewReader(text))
	instead := unusedByte(text)
	if err == nil || instead == 0 || bytes.IndexByte(text, '?') < 0 {
		return text, doc, next, err
	}
	read = bytes.Clone(text)
	for i, c := range text {
		if c != '?' {
			continue
		}
		before := bytes.TrimRight(text[:i], " \t")
		signs := ",[{\r\n" // behind which a key's sign stands
		if len(before) < i {
			signs += ":-"
		}
		if len(before) > 0 && strings.IndexByte(signs, before[len(before)-1]) < 0 {
			read[i] = instead
		}
	}
	if doc, next, err = decodeYAML(bytes.NewReader(read)); err == nil {
		restore(doc, string(instead))
	}
	return read, doc, next, err
}

// unusedByte is a character that the text holds neither itself nor by an escape, and
// with which no word becomes a number or another constant; 0 when there is none.
func unusedByte(text []byte) byte {
	escapes := bytes.IndexByte(text, '\\') >= 0
	for _, c := range []byte("^~$;QZJKVWG") {
		if bytes.IndexByte(text, c) < 0 && !(escapes && bytes.Contains(bytes.ToLower(text), fmt.Appendf(nil, "%02x", c))) {
			return c
		}
	}
	return 0
}

func restore(n *yaml.Node, instead string) {
	n.Value = strings.ReplaceAll(n.Value, instead, "?")
	for _, part := range n.Content {
		restore(part, instead)
	}
}

// checkText refuses what is no text, with the exact place, which the YAML library does not give.
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
		if c >= 0x20 && c < 0x7F || c == '\n' || c == '\t' || c == '\r' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			return syntaxError(file, Span{i, i + 1}, fmt.Sprintf("the byte 0x%02X is no UTF-8; save the file as UTF-8", c)), true
		}
		if !legalRune(r) {
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

// legalRune reports whether YAML lets a character beyond printable ASCII stand in a file.
func legalRune(r rune) bool {
	return r == 0x85 || r >= 0xA0 && r != 0xFFFE && r != 0xFFFF
}

// shift says that offsets of rewritten text from at on lie by further down in the file.
type shift struct{ at, by int }

// isPair reports whether a text begins with a pair of escapes of JSON for one character.
func isPair(src []byte) bool {
	return len(src) >= 12 && isHalf(src, "89abAB") && isHalf(src[6:], "cdefCDEF")
}

func isHalf(src []byte, digits string) bool {
	return string(src[:2]) == `\u` && src[2]|0x20 == 'd' && strings.IndexByte(digits, src[3]) >= 0
}

// plainJSON rewrites the two escapes of JSON that the YAML library refuses:
// \/ and pairs of surrogates. Other text, and JSON without them, is returned
// as it is.
func plainJSON(src []byte) ([]byte, []shift) {
	if !bytes.Contains(src, []byte(`\/`)) && !bytes.Contains(bytes.ToLower(src), []byte(`\ud`)) || !json.Valid(src) {
		return src, nil
	}
	out := make([]byte, 0, len(src))
	var moved []shift
	for i := 0; i < len(src); {
		size := 1
		if src[i] == '\\' {
			size = 2
		}
		text := src[i : i+size]
		if isPair(src[i:]) {
			var char string
			_ = json.Unmarshal([]byte(`"`+string(src[i:i+12])+`"`), &char) // it is valid
			size, text = 12, fmt.Appendf(nil, `\U%08X`, []rune(char)[0])
		} else if string(text) == `\/` {
			text = text[1:]
		}
		out = append(out, text...)
		i += size
		if size != len(text) {
			moved = append(moved, shift{len(out), i - len(out)})
		}
	}
	return out, moved
}

// oneByteReader hands out a text byte by byte, so that the number of bytes
// taken tells how far a parser came before it failed.
type oneByteReader struct {
	text []byte
	pos  int
}

func (r *oneByteReader) Read(p []byte) (int, error) {
	if r.pos >= len(r.text) || len(p) == 0 {
		return 0, io.EOF
	}
	p[0] = r.text[r.pos]
	r.pos++
	return 1, nil
}

// locate turns an error of the YAML library into a finding. The library names
// the line where the surrounding construct starts, or none at all; how far it
// read says where the problem is.
func locate(file *File, text []byte, err error) Diagnostic {
	line, message := splitError(err)
	if strings.HasPrefix(message, "exceeded max depth") {
		return tooDeep(file, 0)
	}
	reader := &oneByteReader{text: text}
	if _, _, again := decodeYAML(reader); again == nil {
		return syntaxError(file, Span{}, message)
	}
	pos := min(max(reader.pos-1, 0), len(file.Src))
	if start := bytes.LastIndexByte(file.Src[:pos], '\n') + 1; start <= len(text) {
		// The library may have looked into the line behind the problem.
		if _, _, before := decodeYAML(bytes.NewReader(text[:start])); before != nil {
			if _, same := splitError(before); same == message {
				pos = start - 1
			}
		}
	}
	return explain(file, message, line, pos)
}

// splitError takes the line (0: none) off a message of the library.
func splitError(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if n, scanErr := fmt.Sscanf(message, "line %d: ", &line); n == 1 && scanErr == nil {
		_, message, _ = strings.Cut(message, ": ")
	}
	return line, message
}

// tooDeep is the finding for nesting beyond the limit.
func tooDeep(file *File, at int) Diagnostic {
	return syntaxError(file, Span{at, min(at+1, len(file.Src))}, fmt.Sprintf("lists and maps are nested more than %d levels deep; at most %d are allowed", maxDepth, maxDepth))
}

// trimmedLine is the span of the text on the line of an offset.
func trimmedLine(file *File, at int) Span {
	line := file.Position(at).Line
	start := file.lines[line-1]
	text := file.Line(line)
	trimmed := strings.TrimLeft(text, " \t\ufeff")
	from := start + len(text) - len(trimmed)
	return Span{from, from + len(strings.TrimRight(trimmed, " \t"))}
}
