// Text of tasks as streams.

package runlog

import (
	"io"
	"sync"
)

// Text writes the texts that a task emits to one stream each. It is safe for concurrent use.
type Text struct {
	open func() io.WriteCloser

	mu     sync.Mutex
	stream io.WriteCloser // nil if none is open
}

// NewText returns a Text that opens streams with open.
func NewText(open func() io.WriteCloser) *Text { return &Text{open: open} }

// Add writes text. A final or a broken text ends the stream.
func (t *Text) Add(text string, final, broken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stream == nil {
		if text == "" {
			return
		}
		t.stream = t.open()
	}
	if broken {
		text += "\n[broken off]"
	}
	_, _ = io.WriteString(t.stream, text)
	if final || broken {
		t.closeStream()
	}
}

// End ends the stream that is open.
func (t *Text) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeStream()
}

func (t *Text) closeStream() {
	if t.stream != nil {
		_ = t.stream.Close()
	}
	t.stream = nil
}
