// Package runlog stores the output of a run's programs and models beside the journal. The run never
// waits for the log, its size is bounded, and secrets are masked.
package runlog

import (
	"cmp"
	"io"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/store"
)

const (
	// logHead and logTail bound the stored bytes at the beginning and the end of a stream.
	logHead = 64 << 10
	logTail = 64 << 10
	// logPiece is added to the size of a chunk, so that the number of chunks is bounded, too.
	logPiece = 64
	// logFlush is the time between two batches.
	logFlush = 200 * time.Millisecond
	// logMerge is the longest time between two writes that share a chunk.
	logMerge = 20 * time.Millisecond
	// largestChunk bounds the text of a chunk.
	largestChunk = 16 << 10
	// lineInterval is the time between two calls of OnLine for a stream.
	lineInterval = 100 * time.Millisecond
)

// Keeper stores logs, like a store.Store.
type Keeper interface {
	AppendLog(runID string, chunks []store.LogChunk, drop []int64) (first int64, err error)
}

// Config configures a Log.
type Config struct {
	Store Keeper // may be nil
	RunID string
	Now   func() time.Time
	Mask  *mask.Masker
	Every time.Duration // between two batches, by default 200 ms
	// OnLine receives the latest line of a stream, in several goroutines. It may be nil.
	OnLine func(store.LogChunk)
}

// Log receives the streams of a run and stores them in batches. It is safe for concurrent use.
type Log struct {
	Config
	flushing sync.Mutex // held while a batch is stored

	mu     sync.Mutex // guards the fields below, and all streams
	calls  int64
	queue  []*chunk    // to be stored, in order
	drop   []int64     // numbers of stored chunks to delete
	timer  *time.Timer // of the next batch, or nil
	failed bool
	closed bool
}

// chunk is a chunk that is stored or queued.
type chunk struct {
	store.LogChunk
	text []byte
	size int
	gone bool // delete it once it is stored
}

// New returns the log of a run.
func New(cfg Config) *Log { return &Log{Config: cfg} }

// OpenStream opens a stream of a task. Writes never fail or block. OnLine gets no lines of quiet ones.
func (l *Log) OpenStream(about store.LogChunk, quiet bool) io.WriteCloser {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	about.Call = l.calls
	return &stream{log: l, about: about, quiet: quiet}
}

// isStoring reports whether chunks are stored: there is a store that has not failed.
func (l *Log) isStoring() bool { return l.Store != nil && !l.failed }

// scheduleFlush starts the timer of the next batch if there is something to store or delete.
func (l *Log) scheduleFlush() {
	if l.timer == nil && l.isStoring() && !l.closed && len(l.queue)+len(l.drop) > 0 {
		l.timer = time.AfterFunc(cmp.Or(l.Every, logFlush), l.flush)
	}
}

func (l *Log) flush() {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	batch, drop := l.queue, l.drop
	l.queue, l.drop, l.timer = nil, nil, nil
	chunks := make([]store.LogChunk, len(batch))
	for i, c := range batch {
		chunks[i] = c.LogChunk
		chunks[i].Text, c.text = string(c.text), nil
	}
	l.mu.Unlock()
	if len(chunks)+len(drop) == 0 {
		return
	}
	first, err := l.Store.AppendLog(l.RunID, chunks, drop)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = l.failed || err != nil
	for i, c := range batch {
		if c.Seq = first + int64(i); c.gone {
			l.drop = append(l.drop, c.Seq)
		}
	}
	l.scheduleFlush()
}

// Close stores the queued chunks. Later writes are ignored.
func (l *Log) Close() {
	l.flush()
	l.flush() // deletes chunks that were dropped during the first flush
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed = true; l.timer != nil {
		l.timer.Stop()
	}
}
