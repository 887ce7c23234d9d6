// Files, and positions in them: byte offsets inside the program, line and column in output.

package spec

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// Span is a half-open range of byte offsets in a File's source.
type Span struct{ From, To int }

// Position is a line and a column, both from 1. Column counts Unicode code points.
type Position struct{ Line, Column int }

// File is the text of one graph file and the offsets of its lines.
type File struct {
	// Name is the file's name in messages: the path as the user gave it, or "<stdin>".
	Name string
	// Src is the text, unchanged.
	Src []byte
	// Texts are the files that a graph file includes by `{file: path}` and `{extends: path}`, in the
	// order of reading, repeated ones too. In the offsets of a Graph their bytes follow Src. Locate finds
	// the file of an offset.
	Texts []*File

	lines []int
	host  *File // the graph's file that includes this text, or nil
	at    Span  // the span in host that names the text
	base  int   // the offset of the text in the offsets of host
}

// Host returns the graph file that includes a text, or nil, and the span that names it.
func (f *File) Host() (*File, Span) {
	if f.host == nil {
		return nil, f.at
	}
	return f.host, f.host.spanInHost(f.at)
}

// Locate returns the file that holds a span of a graph, itself or one of its texts, and the span there.
func (f *File) Locate(s Span) (*File, Span) {
	i := sort.Search(len(f.Texts), func(i int) bool { return f.Texts[i].base > s.From }) - 1
	if i < 0 {
		return f, s
	}
	t := f.Texts[i]
	return t, Span{s.From - t.base, s.To - t.base}
}

// InHost returns a span of a text in the offsets of its Host; see Texts.
func (f *File) InHost(s Span) Span { return Span{f.base + s.From, f.base + s.To} }

// addText adds a text that the file names at a span.
func (f *File) addText(name string, src []byte, at Span) *File {
	base := len(f.Src) + 1
	if n := len(f.Texts); n > 0 {
		base = f.Texts[n-1].base + len(f.Texts[n-1].Src) + 1
	}
	t := NewFile(name, src)
	t.host, t.at, t.base = f, at, base
	f.Texts = append(f.Texts, t)
	return t
}

// spanInHost returns a span of the file, or the span that names the text with it.
func (f *File) spanInHost(s Span) Span {
	if t, _ := f.Locate(s); t != f {
		return f.spanInHost(t.at)
	}
	return s
}

// NewFile returns a file with an index of its lines. src must not change afterwards.
func NewFile(name string, src []byte) *File {
	lines := append(make([]int, 0, 1+bytes.Count(src, []byte("\n"))), 0)
	for i, c := range src {
		if c == '\n' {
			lines = append(lines, i+1)
		}
	}
	return &File{Name: name, Src: src, lines: lines}
}

// Position converts a byte offset, or the nearest one in the file, to a line and column.
func (f *File) Position(offset int) Position {
	offset = max(0, min(offset, len(f.Src)))
	line := sort.SearchInts(f.lines, offset+1) - 1
	return Position{Line: line + 1, Column: utf8.RuneCount(f.Src[f.lines[line]:offset]) + 1}
}

// lineSpan returns the bounds of a line (from 0), without its line break.
func (f *File) lineSpan(i int) Span { return Span{f.lines[i], lineEnd(f.Src, f.lines[i])} }

// Around returns the part of a line within reach bytes of an offset, cut between code points. at is the
// offset in that text. before and after report whether the line has more text there.
func (f *File) Around(offset, reach int) (text string, at int, before, after bool) {
	offset = max(0, min(offset, len(f.Src)))
	line := f.lineSpan(sort.SearchInts(f.lines, offset+1) - 1)
	offset = min(offset, line.To)
	from, to := max(line.From, offset-reach), min(line.To, offset+reach)
	for from > line.From && from < offset && !utf8.RuneStart(f.Src[from]) {
		from++
	}
	for to < line.To && to > offset && !utf8.RuneStart(f.Src[to]) {
		to--
	}
	return string(f.Src[from:to]), offset - from, from > line.From, to < line.To
}

// Line returns the text of a line (from 1) without its line break, or "".
func (f *File) Line(number int) string {
	if number < 1 || number > len(f.lines) {
		return ""
	}
	line := f.lineSpan(number - 1)
	return string(f.Src[line.From:line.To])
}
