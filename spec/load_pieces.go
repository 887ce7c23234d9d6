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

// readAhead is how many pieces are decoded while an earlier one is converted.
const readAhead = 2

// piece is a part of a file that is decoded on its own.
type piece struct {
	Span
	inner bool            // it continues the list or map of the top-level key before it
	node  chan *yaml.Node // receives the root of the piece unless that is faulty; nil until decoding starts
}

// loadPieces reads a file whose map is in block style in pieces of at least a size. It returns
// nil for other files and for a file with a piece that is not valid on its own.
func loadPieces(file *File, size int) (*Value, Diagnostics) {
	src := file.Src
	if len(src) < size || bytes.Contains(src, []byte("\n---")) || bytes.Contains(src, []byte("\n...")) {
		return nil, nil
	}
	c := newConverter(file)
	for _, entry := range splitPieces(src, Span{0, len(src)}, "", 1) {
		c.pieces = append(c.pieces, piece{Span: entry})
		if head := blockHead().FindSubmatchIndex(src[entry.From:entry.To]); head != nil {
			from, to := entry.From+head[2], entry.From+head[3]
			for i, inner := range splitPieces(src, Span{from, entry.To}, string(src[from:to]), size) {
				if i > 0 {
					c.pieces = append(c.pieces, piece{Span: inner, inner: true})
				} else {
					c.pieces[len(c.pieces)-1].To = inner.To
				}
			}
		}
	}
	c.root = &yaml.Node{Kind: yaml.MappingNode, Column: 1}
	if c.root = c.nextPart(c.root); c.root == nil {
		return nil, nil
	}
	var root Value
	if c.convert(c.root, &root); c.refused {
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

// isPart reports whether a node can be a part of a list or map in block style.
func isPart(n *yaml.Node, kind yaml.Kind, column int) bool {
	return n.Kind == kind && n.Column == column && n.Style == 0 && n.Anchor == ""
}

// nextPart returns the next piece that continues a list or map, or nil.
func (c *converter) nextPart(n *yaml.Node) *yaml.Node {
	if c.refused || c.countParts(n) == 0 {
		return nil
	}
	part := c.decodePiece()
	c.refused = part == nil || !isPart(part, n.Kind, n.Column)
	if n == c.root && !c.refused && len(c.pieces) > 0 && c.pieces[0].inner {
		c.open = part.Content[1]
		c.refused = !isBlockCollection(c.open) || !isPart(c.open, c.open.Kind, c.open.Column)
	}
	if c.refused {
		return nil
	}
	return part
}

// countParts returns how many of the next pieces continue a list or map.
func (c *converter) countParts(n *yaml.Node) int {
	if n != c.root && n != c.open {
		return 0
	}
	for i, p := range c.pieces {
		if p.inner != (n == c.open) {
			return i
		}
	}
	return len(c.pieces)
}

// decodePiece returns the root of the next piece, or nil, and starts to decode those behind it.
func (c *converter) decodePiece() *yaml.Node {
	for i := range c.pieces[:min(1+readAhead, len(c.pieces))] {
		if p := &c.pieces[i]; p.node == nil {
			p.node = make(chan *yaml.Node, 1)
			go func(text []byte, node chan<- *yaml.Node) {
				docs, err := decodeYAML(bytes.NewReader(text))
				if err == nil && len(docs) == 1 && len(docs[0].Content) > 0 {
					node <- docs[0].Content[0]
				}
				close(node)
			}(c.file.Src[p.From:p.To], p.node)
		}
	}
	p := c.pieces[0]
	c.pieces = c.pieces[1:]
	c.above = c.file.Position(p.From).Line - 1
	return <-p.node
}
