// Reading a log. Secrets are masked once more, also where chunks cut them.

package runlog

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/store"
)

// Reader masks what became secret after it was stored.
type Reader struct {
	each func(*store.LogChunk) error
	open map[int64]*store.LogChunk // by stream: the end, which may begin a secret
	next map[int64]int64           // by stream: where the next chunk begins if none is missing
}

// NewReader returns a reader that passes chunks to each until it fails.
func NewReader(each func(*store.LogChunk) error) *Reader {
	return &Reader{each: each, open: map[int64]*store.LogChunk{}, next: map[int64]int64{}}
}

// Read passes on a chunk. It keeps an end that may begin a secret for the stream's next chunk.
func (r *Reader) Read(hidden *mask.Masker, c *store.LogChunk) error {
	c.Cut = c.Offset - r.next[c.Call]
	r.next[c.Call] = c.Offset + int64(len(c.Text))
	text := c.Text
	if held := r.open[c.Call]; held != nil {
		delete(r.open, c.Call)
		if c.Cut == 0 {
			text = held.Text + text
		} else if err := r.passEnd(held); err != nil {
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

func (r *Reader) passEnd(c *store.LogChunk) error {
	c.Text = mask.LastChunk(c.Text)
	return r.each(c)
}

// Flush passes on the text that Read kept.
func (r *Reader) Flush() error {
	for _, call := range slices.Sorted(maps.Keys(r.open)) {
		if err := r.passEnd(r.open[call]); err != nil {
			return err
		}
	}
	return nil
}
