// Loading of large files in pieces, because nodes of the YAML library need more memory than values.

package spec

import (
	"bytes"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/internal/lazyregexp"
)

// pieceSize is the minimum size of a piece in bytes. Smaller files are read as a whole.
const pieceSize = 64 << 10

// readAhead is the number of pieces to decode while an earlier piece is converted.
const readAhead = 2

// piece is a part of a file that is decoded on its own.
type piece struct {
	Span
	inner bool            // the piece continues the list or map of the previous top-level key
	rest  int             // the number of pieces left in that list or map, with this one
	node  chan *yaml.Node // receives the root of the piece, or nil if the piece is faulty
}

// loadPieces reads a file with a map in block style in pieces of at least size bytes. It returns nil if
// the file must be read as a whole: other files, and files with a finding, an alias or a merge key.
func loadPieces(file *File, size int) *Value {
	src := file.Src
	if len(src) < size || bytes.Contains(src, []byte("\n---")) || bytes.Contains(src, []byte("\n...")) {
		return nil
	}
	pieces := findPieces(src, size)
	c, root := &converter{reporter: reporter{file: file}}, &Value{Kind: Map}
	whole := &yaml.Node{Kind: yaml.MappingNode, Column: 1}
	last := whole // the value of the latest top-level key
	for i, started := 0, 0; i < len(pieces); i++ {
		for ; started < min(i+1+readAhead, len(pieces)); started++ {
			go pieces[started].decode(src)
		}
		p := pieces[i]
		n, part, to, like := <-p.node, Value{}, root, whole
		c.above, c.depth = file.Position(p.From).Line-1, 0
		if p.inner {
			to, like, c.depth = &root.Fields[len(root.Fields)-1].Value, last, 1
		}
		if n == nil || !isBlockCollection(n) || n.Kind != like.Kind || n.Column != like.Column || n.Style|like.Style != 0 || n.Anchor+like.Anchor != "" {
			return nil
		}
		if !p.inner {
			last = n.Content[len(n.Content)-1]
		}
		if c.convert(n, &part); len(c.diags) > 0 || c.expanded > 0 {
			return nil
		}
		if i == 0 {
			root.Span.From = part.Span.From
		}
		to.Items, to.Fields = appendPart(to.Items, part.Items, p.rest), appendPart(to.Fields, part.Fields, p.rest)
		to.Span.To, root.Span.To = part.Span.To, part.Span.To
	}
	if hasRepeatedKey(*root) || slices.ContainsFunc(root.Fields, func(f Field) bool { return hasRepeatedKey(f.Value) }) {
		return nil
	}
	return root
}

// appendPart appends part to list. If list is full, it makes room for parts more of the same length.
func appendPart[T any](list, part []T, parts int) []T {
	if len(list)+len(part) > cap(list) {
		list = slices.Grow(list, len(part)*(parts+1))
	}
	return append(list, part...)
}

func hasRepeatedKey(v Value) bool {
	seen := make(map[string]bool, len(v.Fields))
	for i := range v.Fields {
		seen[v.Fields[i].Key.Value] = true
	}
	return len(seen) < len(v.Fields)
}

// findPieces divides a file at its top-level keys, and the lists and maps under these keys at their entries.
func findPieces(src []byte, size int) (pieces []piece) {
	for _, entry := range splitPieces(src, Span{0, len(src)}, "", 1) {
		inner := []Span{entry}
		if head := blockHead.Get().FindSubmatchIndex(src[entry.From:entry.To]); head != nil {
			from, to := entry.From+head[2], entry.From+head[3]
			inner = splitPieces(src, Span{from, entry.To}, string(src[from:to]), size)
			inner[0].From = entry.From
		}
		for i, span := range inner {
			pieces = append(pieces, piece{Span: span, inner: i > 0, rest: len(inner) - i, node: make(chan *yaml.Node, 1)})
		}
	}
	return pieces
}

// splitPieces divides a list or map into pieces of at least that size. Its entries begin with prefix.
func splitPieces(src []byte, part Span, prefix string, least int) (pieces []Span) {
	from, entries := part.From, 0
	for at := part.From; at < part.To; at = lineEnd(src, at) + 1 {
		rest, isEntry := bytes.CutPrefix(src[at:part.To], []byte(prefix))
		if !isEntry || len(rest) == 0 || !strings.HasSuffix(prefix, "-") && (rest[0]|' ' < 'a' || 'z' < rest[0]|' ') {
			continue
		}
		if entries++; entries > 1 && at-from >= least {
			pieces, from = append(pieces, Span{from, at}), at
		}
	}
	return append(pieces, Span{from, part.To})
}

// blockHead matches a key and the beginning of its list or map on the next line.
var blockHead = lazyregexp.New(`^[\w-]+:[ \t]*(?:#.*)?\r?\n( *-| +)`)

// decode decodes the piece and sends its root on p.node.
func (p *piece) decode(src []byte) {
	docs, err := decodeYAML(bytes.NewReader(src[p.From:p.To]))
	if err == nil && len(docs) == 1 && len(docs[0].Content) > 0 {
		p.node <- docs[0].Content[0]
	}
	close(p.node)
}
