// Reading a log: secrets are masked in it once more, also where chunks cut them.

package runlog

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/store"
)

// Reader tells chunks, with what has become secret since they were kept masked. Not for
// concurrent use.
type Reader struct {
	each func(*store.LogChunk) error
	// open holds of each stream the end that may be the beginning of a secret.
	open map[int64]*store.LogChunk
	// next is where the next chunk of each stream begins if nothing is missing.
	next map[int64]int64
}

// NewReader is a reader that gives each chunk to each, whose first error ends a Tell.
func NewReader(each func(*store.LogChunk) error) *Reader {
	return &Reader{each: each, open: map[int64]*store.LogChunk{}, next: map[int64]int64{}}
}

// Tell tells a chunk, without what may be the beginning of a secret: that comes with
// the next one of its stream. It changes c.
func (r *Reader) Tell(hidden *mask.Masker, c *store.LogChunk) error {
	c.Cut = c.Offset - r.next[c.Call]
	r.next[c.Call] = c.Offset + int64(len(c.Text))
	text := c.Text
	if held := r.open[c.Call]; held != nil {
		delete(r.open, c.Call)
		if c.Cut == 0 {
			text = held.Text + text
		} else if err := r.tellEnd(held); err != nil {
			return err
		}
	}
	shown, rest := hidden.Chunk(text)
	if c.End {
		shown, rest = shown+mask.LastChunk(rest), ""
		delete(r.next, c.Call)
	}
	if rest != "" {
		held := *c
		held.Text, held.Cut = rest, 0
		r.open[c.Call] = &held
	}
	if shown == "" && !c.End && c.Cut == 0 {
		return nil
	}
	c.Text = shown
	return r.each(c)
}

func (r *Reader) tellEnd(c *store.LogChunk) error {
	c.Text = mask.LastChunk(c.Text)
	return r.each(c)
}

// Flush tells what was held back.
func (r *Reader) Flush() error {
	for _, call := range slices.Sorted(maps.Keys(r.open)) {
		if err := r.tellEnd(r.open[call]); err != nil {
			return err
		}
	}
	return nil
}
