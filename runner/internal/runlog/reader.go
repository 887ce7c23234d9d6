// Reading a log, with later secrets masked, also across chunks.

package runlog

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/store"
)

// Reader masks secrets that became known after the log was stored.
type Reader struct {
	each func(*store.LogChunk) error
	open map[int64]*store.LogChunk // by stream: its end, which may be the beginning of a secret
	next map[int64]int64           // by stream: where the next chunk begins if none is missing
}

// NewReader returns a reader that passes chunks to each until each fails.
func NewReader(each func(*store.LogChunk) error) *Reader {
	return &Reader{each: each, open: map[int64]*store.LogChunk{}, next: map[int64]int64{}}
}

// PassChunk masks a chunk and passes it to each. An end that may begin a secret waits for the next
// chunk.
func (r *Reader) PassChunk(hidden *mask.Masker, c *store.LogChunk) error {
	c.Cut = c.Offset - r.next[c.Call]
	r.next[c.Call] = c.Offset + int64(len(c.Text))
	text := c.Text
	if held := r.open[c.Call]; held != nil {
		delete(r.open, c.Call)
		if c.Cut == 0 {
			text = held.Text + text
		} else if err := r.passHeld(held); err != nil {
			return err
		}
	}
	shown, rest := hidden.MaskChunk(text)
	if c.End {
		shown, rest = shown+mask.MaskLastChunk(rest), ""
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

func (r *Reader) passHeld(c *store.LogChunk) error {
	c.Text = mask.MaskLastChunk(c.Text)
	return r.each(c)
}

// Flush passes on the texts that PassChunk held back.
func (r *Reader) Flush() error {
	for _, call := range slices.Sorted(maps.Keys(r.open)) {
		if err := r.passHeld(r.open[call]); err != nil {
			return err
		}
	}
	return nil
}
