// Conversion between byte offsets and the protocol's lines and UTF-16 units.

package lsp

import (
	"sort"
	"strings"
	"unicode/utf8"
)

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
		units += width(r)
		at += utf8.RuneLen(r)
	}
	return at
}

// position converts an offset to a position.
func (t *text) position(offset int) position {
	offset = max(0, min(offset, len(t.src)))
	line := sort.SearchInts(t.lines, offset+1) - 1
	units := 0
	for _, r := range t.src[t.lines[line]:offset] {
		units += width(r)
	}
	return position{line, units}
}

func (t *text) span(from, to int) textRange { return textRange{t.position(from), t.position(to)} }

// replace returns the text after an edit.
func (t *text) replace(r textRange, with string) *text {
	from, to := t.offset(r.Start), t.offset(r.End)
	return newText(t.src[:from] + with + t.src[max(from, to):])
}

// width returns the number of UTF-16 units of a character.
func width(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}
