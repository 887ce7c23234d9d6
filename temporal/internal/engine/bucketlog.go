// Logs in a bucket: objects do not grow, so a log is several of them.

package engine

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// logEvery is how long what is said waits for more of it.
	logEvery = time.Second
	// logTime is how long a bucket may take for a part of a log.
	logTime = 10 * time.Second
)

// bucketLog is a log in a bucket. Who writes to it waits for nothing.
type bucketLog struct {
	bucket *bucket
	key    string // the parts' is this and their number
	parts  int    // what sending guards

	sending sync.Mutex

	mu      sync.Mutex
	waiting []byte
	timer   *time.Timer // nil: nobody is going to send what waits
	closed  bool
}

func (b *bucket) openLog(runID, name string) (io.WriteCloser, error) {
	return &bucketLog{bucket: b, key: b.key("logs", logName(runID), name)}, nil
}

// Write never fails: what can't be sent waits for the next time.
func (l *bucketLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, p...)
	l.plan()
	return len(p), nil
}

// plan is called with mu held.
func (l *bucketLog) plan() {
	if l.timer == nil && !l.closed {
		l.timer = time.AfterFunc(logEvery, func() { _ = l.send() })
	}
}

// Close sends the rest.
func (l *bucketLog) Close() error {
	l.mu.Lock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	return l.send()
}

func (l *bucketLog) send() error {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	text := l.waiting
	l.waiting, l.timer = nil, nil
	l.mu.Unlock()
	if len(text) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), logTime)
	defer cancel()
	err := l.bucket.write(ctx, fmt.Sprintf("%s-%06d", l.key, l.parts), text)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.waiting = append(text, l.waiting...)
		l.plan()
		return err
	}
	l.parts++
	return nil
}
