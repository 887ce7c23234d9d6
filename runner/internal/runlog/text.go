// What tasks say as text.

package runlog

import (
	"io"
	"sync"
)

// Text is what a task says as text: a stream for each that it ends. It is safe for
// concurrent use.
type Text struct {
	open func() io.WriteCloser

	mu     sync.Mutex
	stream io.WriteCloser // nil: none is open
}

// NewText says text to streams that open begins.
func NewText(open func() io.WriteCloser) *Text { return &Text{open: open} }

// Add says some more; final: it is the end of the text, broken: what came of it is void.
func (t *Text) Add(text string, final, broken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stream == nil && text != "" {
		t.stream = t.open()
	}
	if t.stream != nil {
		_, _ = io.WriteString(t.stream, text)
	}
	if broken && t.stream != nil {
		_, _ = io.WriteString(t.stream, "\n[broken off]")
	}
	if final || broken {
		t.close()
	}
}

// End ends a text that has not ended.
func (t *Text) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.close()
}

func (t *Text) close() {
	if t.stream != nil {
		_ = t.stream.Close()
	}
	t.stream = nil
}
