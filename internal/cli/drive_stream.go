// Events as JSON lines: -o jsonl, --stream and --trace.

package cli

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner"
)

// flushDelay is the longest time an event waits in the buffer.
const flushDelay = 20 * time.Millisecond

// eventWriter writes events as JSON lines.
type eventWriter struct {
	lines lineWriter
	sink  *runner.JSONSink            // to lines
	keep  func(runner.EventType) bool // nil: all
}

func newEventWriter(w io.Writer, keep func(runner.EventType) bool) *eventWriter {
	e := &eventWriter{lines: lineWriter{out: bufio.NewWriterSize(w, 64<<10)}, keep: keep}
	e.sink = runner.NewJSONSink(&e.lines)
	return e
}

// Event writes one event.
func (w *eventWriter) Event(e *runner.Event) error {
	if w.keep != nil && !w.keep(e.Type) {
		return nil
	}
	return w.sink.Event(e)
}

// briefEnd passes events on, without the history at the end that those who look at
// a record always get: a run prints it only with --history.
type briefEnd struct{ next runner.Sink }

// Event passes an event on.
func (s briefEnd) Event(e *runner.Event) error {
	if e.Type != runner.RunFinished || e.Result == nil {
		return s.next.Event(e)
	}
	event, result := *e, *e.Result
	result.History, event.Result = nil, &result
	return s.next.Event(&event)
}

// close writes what is left.
func (w *eventWriter) close() error { return w.lines.close() }

// lineWriter buffers, so that a fast run is not slowed by a system call per
// event, and flushes soon, so that a reader sees events as they happen.
type lineWriter struct {
	mu    sync.Mutex // guards what follows: the timer flushes from its own goroutine
	out   *bufio.Writer
	timer *time.Timer
	armed bool
	err   error
}

// Write writes whole lines. After an error it writes no more.
func (w *lineWriter) Write(lines []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	var n int
	n, w.err = w.out.Write(lines)
	if !w.armed {
		w.armed = true
		if w.timer == nil {
			w.timer = time.AfterFunc(flushDelay, w.flush)
		} else {
			w.timer.Reset(flushDelay)
		}
	}
	return n, w.err
}

func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = false
	if err := w.out.Flush(); w.err == nil {
		w.err = err
	}
}

// close writes what is left.
func (w *lineWriter) close() error {
	w.flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	return w.err
}

// streamNames are the groups of events --stream chooses from, sorted.
func streamNames() []string {
	return []string{"checkpoints", "custom", "debug", "messages", "tasks", "thinking", "updates"}
}

// streamFilter says which events the groups let through; with no group all.
func streamFilter(groups []string) func(runner.EventType) bool {
	if len(groups) == 0 {
		return nil
	}
	return func(t runner.EventType) bool {
		return strings.HasPrefix(string(t), "run_") ||
			slices.ContainsFunc(groups, func(group string) bool { return inGroup(t, group) })
	}
}

func inGroup(t runner.EventType, group string) bool {
	switch group {
	case "messages":
		return t == runner.NodeOutput || t == runner.LLMUsage
	case "updates":
		return t == runner.StateUpdated || t == runner.EdgesResolved
	case "tasks":
		return strings.HasPrefix(string(t), "node_") || strings.HasPrefix(string(t), "branches_") || t == runner.ToolCalled
	case "checkpoints":
		return t == runner.Checkpoint
	case "custom":
		return t == runner.NodeEvent
	case "thinking":
		return t == runner.NodeThinking
	case "debug":
		return inGroup(t, "tasks") || inGroup(t, "checkpoints")
	}
	return false
}
