package process

import "sync"

// Tail keeps the last Keep bytes that are written to it. It is safe for concurrent use.
type Tail struct {
	Keep int

	mu  sync.Mutex
	buf []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-t.Keep):]...)
	// Moving down only when twice full keeps the cost per byte constant.
	if len(t.buf) > 2*t.Keep {
		t.buf = t.buf[:copy(t.buf, t.buf[len(t.buf)-t.Keep:])]
	}
	return len(p), nil
}

// Bytes returns what is kept.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.buf[max(0, len(t.buf)-t.Keep):]...)
}
