// The messages of the Language Server Protocol 3.17 that the server supports
// (microsoft.github.io/language-server-protocol), and positions, which count UTF-16 units.

package lsp

import (
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// object is a message or a part of one that the server only writes.
type object = map[string]any

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type textEdit struct {
	Range   textRange `json:"range"`
	NewText string    `json:"newText"`
}

// params holds the parameters of all methods. Each method sets some of them.
type params struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
	Position position  `json:"position"`
	Range    textRange `json:"range"`
	NewName  string    `json:"newName"`
	Title    string    `json:"title"` // Title and Data belong to a code action
	Data     string    `json:"data"`
	Init     struct {
		Lenses bool `json:"lenses"` // the editor has the commands of lenses
	} `json:"initializationOptions"`
	RootURI        string                 `json:"rootUri"`
	Folders        []struct{ URI string } `json:"workspaceFolders"`
	ContentChanges []struct {
		Range *textRange `json:"range"`
		Text  string     `json:"text"`
	} `json:"contentChanges"`
}

func newMarkup(text string) object { return object{"kind": "markdown", "value": text} }

// newLocation returns the location of a span of offsets in a document.
func (d *document) newLocation(from, to int) object {
	return object{"uri": d.uri, "range": d.text.span(from, to)}
}

type completion struct {
	Label  string `json:"label"`
	Kind   int    `json:"kind"`
	Detail string `json:"detail,omitempty"`
	Doc    object `json:"documentation,omitempty"`
}

// describeServer returns the answer to initialize.
func describeServer(version string, lenses bool) object {
	can := object{
		"positionEncoding":           "utf-16",
		"textDocumentSync":           object{"openClose": true, "change": 2},
		"hoverProvider":              true,
		"completionProvider":         object{"triggerCharacters": []string{".", ":", " ", "{", "["}},
		"definitionProvider":         true,
		"referencesProvider":         true,
		"documentHighlightProvider":  true,
		"renameProvider":             object{"prepareProvider": true},
		"codeActionProvider":         object{"codeActionKinds": []string{"quickfix", "source"}, "resolveProvider": true},
		"documentSymbolProvider":     true,
		"documentFormattingProvider": true,
		"foldingRangeProvider":       true,
		"semanticTokensProvider":     object{"full": true, "legend": object{"tokenTypes": tokenTypes, "tokenModifiers": []string{}}},
		"signatureHelpProvider":      object{"triggerCharacters": []string{"(", ","}},
	}
	if lenses {
		can["codeLensProvider"] = object{}
	}
	return object{"capabilities": can, "serverInfo": object{"name": "graphrun", "version": version}}
}

// text is a text with the offsets of its lines.
type text struct {
	src   string
	lines []int
}

func newText(src string) *text {
	t := &text{src: src, lines: []int{0}}
	for i := range len(src) {
		if src[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// line returns a line without its line break.
func (t *text) line(n int) string {
	end := len(t.src)
	if n+1 < len(t.lines) {
		end = t.lines[n+1]
	}
	return strings.TrimRight(t.src[t.lines[n]:end], "\r\n")
}

// indent returns the number of spaces before the content of a line.
func (t *text) indent(n int) int { return len(t.line(n)) - len(strings.TrimLeft(t.line(n), " ")) }

// textBefore returns the part of a line before a position.
func (t *text) textBefore(p position) string {
	at := t.offset(p)
	return t.src[t.lines[t.position(at).Line]:at]
}

// offset converts a position to an offset. It clamps positions outside the text.
func (t *text) offset(p position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.lines) {
		return len(t.src)
	}
	at, units := t.lines[p.Line], 0
	for _, r := range t.line(p.Line) {
		if units >= p.Character {
			break
		}
		units += utf16.RuneLen(r)
		at += utf8.RuneLen(r)
	}
	return at
}

func (t *text) position(offset int) position {
	offset = max(0, min(offset, len(t.src)))
	line := sort.SearchInts(t.lines, offset+1) - 1
	units := 0
	for _, r := range t.src[t.lines[line]:offset] {
		units += utf16.RuneLen(r)
	}
	return position{line, units}
}

func (t *text) span(from, to int) textRange { return textRange{t.position(from), t.position(to)} }

func (t *text) replaceRange(r textRange, with string) *text {
	from, to := t.offset(r.Start), t.offset(r.End)
	return newText(t.src[:from] + with + t.src[max(from, to):])
}
