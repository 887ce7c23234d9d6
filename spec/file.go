// Positions in a graph file: byte offsets inside, line and column at print time.

package spec

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// Span is a half-open range of byte offsets in a File's source.
type Span struct{ From, To int }

// Position is where an offset stands for a person. Both numbers start at 1;
// Column counts Unicode code points, as editors and SARIF do.
type Position struct{ Line, Column int }

// File is the text of one graph file and the offsets of its lines.
type File struct {
	// Name is what messages call the file: the path as the user gave it, or "<stdin>".
	Name string
	// Src is the text, unchanged.
	Src   []byte
	lines []int
}

// NewFile indexes the lines of src. The file keeps src: it must not change afterwards.
func NewFile(name string, src []byte) *File {
	lines := make([]int, 1, 1+bytes.Count(src, []byte{'\n'}))
	for at := 0; ; {
		n := bytes.IndexByte(src[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
		lines = append(lines, at)
	}
	return &File{Name: name, Src: src, lines: lines}
}

// Position converts a byte offset; one outside the text is moved to its nearest end.
func (f *File) Position(offset int) Position {
	offset = max(0, min(offset, len(f.Src)))
	line := sort.SearchInts(f.lines, offset+1) - 1
	column := utf8.RuneCount(f.Src[f.lines[line]:offset]) + 1
	return Position{Line: line + 1, Column: column}
}

// Line returns the text of a line (from 1) without its line break; "" when there is none.
func (f *File) Line(number int) string {
	if number < 1 || number > len(f.lines) {
		return ""
	}
	end := len(f.Src)
	if number < len(f.lines) {
		end = f.lines[number] - 1
	}
	line := f.Src[f.lines[number-1]:end]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return string(line)
}
