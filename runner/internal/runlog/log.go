// Package runlog keeps what programs and models say in a run: a log beside the journal.
// The run never waits for it, what it keeps is bounded, and secrets are masked.

package runlog

import (
	"io"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/store"
)

const (
	// logHead and logTail are how many bytes of a stream of an attempt are kept:
	// its first and its last.
	logHead = 64 << 10
	logTail = 64 << 10
	// logPiece is what a chunk costs besides its text, so that many small ones are
	// bounded, too.
	logPiece = 64
	// logFlush is how long a chunk waits for others.
	logFlush = 200 * time.Millisecond
	// logMerge is how far apart in time what becomes one chunk may be.
	logMerge = 20 * time.Millisecond
	// largestChunk bounds the text of a chunk.
	largestChunk = 16 << 10
	// heardAfter is how long after something was said Heard is told the latest line.
	heardAfter = 100 * time.Millisecond
)

// Keeper is what of a store keeps logs.
type Keeper interface {
	// AppendLog adds chunks in order, forgets those whose numbers are in drop, and returns
	// the number of the first.
	AppendLog(runID string, chunks []store.LogChunk, drop []int64) (first int64, err error)
}

// Log takes what is said, from any goroutine, and keeps it in batches.
type Log struct {
	store Keeper // nil: nothing is kept
	runID string
	now   func() time.Time
	heard func(store.LogChunk)

	mu      sync.Mutex // of all that follows
	mask    *mask.Masker
	calls   int64
	queue   []*chunk    // not kept yet, in order
	gone    int         // of queue, about
	drop    []int64     // kept, and to be forgotten
	timer   *time.Timer // nil: nothing is to be kept
	failed  bool
	over    bool       // the run has ended, or pauses
	flushed sync.Mutex // held while a batch is written
}

// logChunk is a chunk on its way.
type chunk struct {
	store.LogChunk
	text    []byte
	size    int  // what it counts as
	gone    bool // it is not to be kept
	writing bool // it is in a batch that is being written
}

// Config says of a Log whose it is. Now may not be nil.
type Config struct {
	// Store keeps the chunks; nil: they are not kept.
	Store Keeper
	RunID string
	// Now is the clock that chunks are stamped by.
	Now func() time.Time
	// Heard is told the latest line of a stream, from several goroutines; nil: nobody
	// listens.
	Heard func(store.LogChunk)
}

// New is the log of a run. It is safe for concurrent use.
func New(cfg Config) *Log {
	return &Log{store: cfg.Store, runID: cfg.RunID, heard: cfg.Heard, now: cfg.Now, mask: &mask.Masker{}}
}

// HideForms masks texts that are what secrets read as.
func (l *Log) HideForms(texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mask.HideForms(texts)
}

// Hide masks texts in what is said from now on.
func (l *Log) Hide(v any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mask.Hide(v)
}

// Open begins a stream of a task: what it writes never fails and never waits. Heard is told nothing of a quiet one.
func (l *Log) Open(about store.LogChunk, quiet bool) io.WriteCloser {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	about.Call = l.calls
	return &stream{log: l, about: about, quiet: quiet}
}

// later makes sure that what waits is kept soon. The caller has the lock.
func (l *Log) later() {
	if l.timer == nil && l.store != nil && !l.failed {
		l.timer = time.AfterFunc(logFlush, l.flush)
	}
}

// flush keeps what waits. A store that fails takes no more: what the run is told
// of it, the journal says.
func (l *Log) flush() {
	l.flushed.Lock()
	defer l.flushed.Unlock()
	l.mu.Lock()
	if l.over { // a timer that was late
		l.mu.Unlock()
		return
	}
	l.timer = nil
	var batch []*chunk
	var chunks []store.LogChunk
	for _, c := range l.queue {
		if !c.gone {
			c.writing, c.Text = true, string(c.text)
			batch, chunks = append(batch, c), append(chunks, c.LogChunk)
		}
	}
	drop := l.drop
	l.queue, l.gone, l.drop = nil, 0, nil
	l.mu.Unlock()
	if len(chunks)+len(drop) == 0 || l.store == nil {
		return
	}
	first, err := l.store.AppendLog(l.runID, chunks, drop)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = l.failed || err != nil
	for i, c := range batch {
		c.Seq, c.writing, c.Text = first+int64(i), false, ""
		if c.text = nil; c.gone {
			l.drop = append(l.drop, c.Seq)
		}
	}
	if len(l.drop) > 0 {
		l.later()
	}
}

// Close keeps what is left. What is said from then on is lost.
func (l *Log) Close() {
	for range 2 { // the first may find that something is to be forgotten
		l.flush()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over = true; l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}
