// The body of a request: JSON of which a long list is written already.

package wire

import (
	"bytes"
	"io"
	"maps"
	"slices"
)

// body is a request's body in pieces.
type body struct {
	pieces [][]byte
	size   int64
}

// encode writes an object, its keys sorted; a List goes in as it is.
func encode(fields map[string]any) (*body, error) {
	out := &body{}
	var text bytes.Buffer
	encoder := newEncoder(&text)
	write := func(v any) error {
		err := encoder.Encode(v)
		text.Truncate(max(text.Len()-1, 0)) // the encoder's line break
		return err
	}
	begin := 0
	flush := func() {
		out.pieces = append(out.pieces, text.Bytes()[begin:])
		begin = text.Len()
	}
	separator := byte('{')
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		text.WriteByte(separator)
		separator = ','
		if err := write(key); err != nil {
			return nil, err
		}
		text.WriteByte(':')
		if list, ok := fields[key].(List); ok {
			flush()
			out.pieces = append(out.pieces, list.pieces()...)
			continue
		}
		if err := write(fields[key]); err != nil {
			return nil, err
		}
	}
	if separator == '{' {
		text.WriteByte('{')
	}
	text.WriteString("}\n")
	flush()
	for _, piece := range out.pieces {
		out.size += int64(len(piece))
	}
	return out, nil
}

// reader reads the body from its beginning.
func (b *body) reader() io.Reader {
	readers := make([]io.Reader, len(b.pieces))
	for i, piece := range b.pieces {
		readers[i] = bytes.NewReader(piece)
	}
	return io.MultiReader(readers...)
}
