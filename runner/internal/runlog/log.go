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

// Keeper keeps logs. See store.Store.
type Keeper interface {
	AppendLog(runID string, chunks []store.LogChunk, drop []int64) (first int64, err error)
}

// Log takes what is said, from any goroutine, and keeps it in batches.
type Log struct {
	Config

	mu      sync.Mutex // of what follows
	calls   int64
	queue   []*chunk    // not kept yet, in order
	gone    int         // of queue, about
	drop    []int64     // kept, and to be forgotten
	timer   *time.Timer // nil: nothing is to be kept
	failed  bool
	over    bool       // the run has ended, or pauses
	flushed sync.Mutex // held while a batch is written
}

// chunk is a chunk on its way.
type chunk struct {
	store.LogChunk
	text    []byte
	size    int  // what it counts as
	gone    bool // it is not to be kept
	writing bool // it is in a batch that is being written
}

// Config configures a Log.
type Config struct {
	// Store keeps the chunks; nil: nobody does.
	Store Keeper
	RunID string
	// Now returns the time.
	Now func() time.Time
	// Mask hides secrets.
	Mask *mask.Masker
	// Heard is called with the latest line of a stream, in several goroutines; nil: it is not.
	Heard func(store.LogChunk)
}

// New returns the log of a run. It is safe for concurrent use.
func New(cfg Config) *Log { return &Log{Config: cfg} }

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
	if l.timer == nil && l.Store != nil && !l.failed {
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
	if len(chunks)+len(drop) == 0 || l.Store == nil {
		return
	}
	first, err := l.Store.AppendLog(l.RunID, chunks, drop)
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
