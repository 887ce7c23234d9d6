// Reading a large file piece by piece: the library's nodes of the whole file would need more
// memory than its values.

package spec

import (
	"bytes"
	"strings"

	"github.com/graphrun/graphrun/internal/lazyregexp"

	"gopkg.in/yaml.v3"
)

// pieceSize is the least size of a piece in bytes. Smaller files are not divided.
const pieceSize = 64 << 10

// loadPieces reads a file whose map is in block style by pieces of at least a size. It returns
// nil for other files and for a file with a piece that is not valid by itself.
func loadPieces(file *File, size int) (*Value, Diagnostics) {
	src := file.Src
	if len(src) < size || bytes.Contains(src, []byte("\n---")) || bytes.Contains(src, []byte("\n...")) {
		return nil, nil
	}
	c := newConverter(file)
	c.rest, c.pieceSize = map[*yaml.Node][]Span{}, size
	pieces := splitPieces(src, Span{0, len(src)}, "", 1)
	n := c.readPiece(pieces[0], yaml.MappingNode, 1)
	if n == nil {
		return nil, nil
	}
	c.rest[n] = pieces[1:]
	var root Value
	if c.convert(n, &root); c.refused {
		return nil, nil
	}
	return &root, c.diags
}

// splitPieces divides a part of a text into pieces of at least a size. Each begins with an entry
// of a list or map, whose lines begin with a prefix.
func splitPieces(src []byte, part Span, prefix string, least int) (pieces []Span) {
	from, entries := part.From, 0
	for at := part.From; at < part.To; at = lineEnd(src, at) + 1 {
		rest, isEntry := bytes.CutPrefix(src[at:part.To], []byte(prefix))
		if !isEntry || len(rest) == 0 || !strings.HasSuffix(prefix, "-") && !isLetter(rest[0]) {
			continue
		}
		if entries++; entries > 1 && at-from >= least {
			pieces, from = append(pieces, Span{from, at}), at
		}
	}
	return append(pieces, Span{from, part.To})
}

func isLetter(c byte) bool { return 'a' <= c|' ' && c|' ' <= 'z' }

// blockHead matches a key and the beginning of its list or map on the next line.
var blockHead = lazyregexp.New(`^[\w-]+:[ \t]*(?:#.*)?\r?\n( *-| +)`)

// readPiece returns the list or map that a piece of the file holds, or nil. Of a large entry, it
// reads the first piece.
func (c *converter) readPiece(piece Span, kind yaml.Kind, column int) *yaml.Node {
	src := c.file.Src
	c.above = c.file.Position(piece.From).Line - 1
	var rest []Span
	if head := blockHead().FindSubmatchIndex(src[piece.From:piece.To]); head != nil && column == 1 {
		inner := splitPieces(src, Span{piece.From + head[2], piece.To}, string(src[piece.From+head[2]:piece.From+head[3]]), c.pieceSize)
		piece.To, rest = inner[0].To, inner[1:]
	}
	docs, err := decodeYAML(bytes.NewReader(src[piece.From:piece.To]))
	if err != nil || len(docs) != 1 || len(docs[0].Content) == 0 || !isPart(docs[0].Content[0], kind, column) {
		return nil
	}
	n := docs[0].Content[0]
	if len(rest) > 0 {
		if !isBlockCollection(n.Content[1]) || !isPart(n.Content[1], n.Content[1].Kind, n.Content[1].Column) {
			return nil
		}
		c.rest[n.Content[1]] = rest
	}
	return n
}

// isPart reports whether a node can be a part of a list or map in block style.
func isPart(n *yaml.Node, kind yaml.Kind, column int) bool {
	return n.Kind == kind && n.Column == column && n.Style == 0 && n.Anchor == ""
}

// nextPart returns the next piece that continues a list or map, or nil.
func (c *converter) nextPart(n *yaml.Node) *yaml.Node {
	pieces := c.rest[n]
	if len(pieces) == 0 || c.refused {
		return nil
	}
	c.rest[n] = pieces[1:]
	part := c.readPiece(pieces[0], n.Kind, n.Column)
	c.refused = part == nil
	return part
}
