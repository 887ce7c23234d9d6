// Output of a run: events, trace, result.

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// runOutput is the sink of a run: a view on stderr, JSON lines on stdout and in the trace file.
type runOutput struct {
	app     *app
	format  string
	stream  []string      // event groups that jsonl prints; empty for all
	view    *runview.View // nil with --quiet or JSON
	colors  terminal.Colors
	writers []runner.Sink
	lines   []*lineWriter // that writers write to
	trace   *os.File
}

func (a *app) newRunOutput(g *spec.Graph, f *driveFlags) (*runOutput, error) {
	o := &runOutput{app: a, format: f.output.value, stream: f.stream.values, colors: terminal.NewColors(a.colorOn(a.StderrTerminal))}
	if f.trace != "" {
		file, err := os.OpenFile(f.trace, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, usagef("--trace: %w", err)
		}
		o.trace = file
		o.writers = append(o.writers, runner.NewJSONSink(o.buffered(file)))
	}
	if o.format == "jsonl" {
		o.writers = append(o.writers, filtered(runner.NewJSONSink(o.buffered(a.Stdout)), streamFilter(f.stream.values)))
	}
	tracer := runview.NewTracer(g, o.colors)
	switch {
	case f.quiet:
	case o.format == "jsonl" && a.StdoutTerminal: // the events are the view
	case a.StderrTerminal && os.Getenv("TERM") != "dumb":
		o.view = runview.NewLive(a.Stderr, a.Now, a.Columns, tracer)
	case o.format == "text":
		o.view = runview.NewPlain(a.Stderr, tracer, func(d time.Duration, f func()) (stop func() bool) { return time.AfterFunc(d, f).Stop })
	}
	return o, nil
}

// buffered returns a writer to w that close flushes.
func (o *runOutput) buffered(w io.Writer) io.Writer {
	lines := newLineWriter(w)
	o.lines = append(o.lines, lines)
	return lines
}

// warn returns a function that prints warnings, or nil if the shown events include them.
func (o *runOutput) warn() func(node, message string) {
	if o.view != nil || o.shown(runner.NodeEvent) {
		return nil
	}
	return func(node, message string) {
		if node != "" { // empty for a warning of the run
			node += ": "
		}
		o.note("warning: " + node + terminal.Line(message))
	}
}

// Event passes an event to the view and the writers.
func (o *runOutput) Event(e *runner.Event) error {
	if o.view != nil {
		o.view.Event(e)
	}
	for _, w := range o.writers {
		if err := w.Event(e); err != nil {
			return err
		}
	}
	return nil
}

// shown reports whether events of a type go to stdout.
func (o *runOutput) shown(t runner.EventType) bool {
	keep := streamFilter(o.stream)
	return o.format == "jsonl" && (keep == nil || keep(t))
}

// hold stops drawing until release is called, so that a question can use the terminal.
func (o *runOutput) hold() (release func()) {
	if o.view != nil {
		return o.view.Hold()
	}
	return func() {}
}

func (o *runOutput) note(text string) {
	if o.view != nil {
		o.view.Note(text)
		return
	}
	o.app.note(text)
}

// close ends the view and the trace, and writes the events that are left.
func (o *runOutput) close() error {
	if o.view != nil {
		o.view.Close()
	}
	var failed error
	for _, w := range o.lines {
		failed = errors.Join(failed, w.flush())
	}
	if o.trace != nil {
		failed = errors.Join(failed, o.trace.Close())
	}
	return failed
}

// result prints the output on stdout and a summary on stderr.
func (o *runOutput) result(r *runner.Result) error {
	a := o.app
	if o.view != nil {
		columns := 0 // unlimited in a log
		if a.StderrTerminal && a.Columns != nil {
			columns = a.Columns()
		}
		shown := *r
		if o.format == "text" {
			shown.State = stateWithoutOutput(r)
		}
		for _, line := range a.summaryLines(&shown, o.colors) {
			for _, part := range terminal.Wrap(line, columns, 4) {
				fmt.Fprintln(a.Stderr, part)
			}
		}
	} else if r.Status != machine.Completed {
		a.note(runview.FormatHeadline(r))
		if next := a.next(r); next != "" {
			fmt.Fprintf(a.Stderr, "  %s\n", next)
		}
	}
	switch o.format {
	case "json":
		return writeJSON(a.Stdout, r, a.StdoutTerminal)
	case "text":
		return o.value(r.Output)
	}
	return nil
}

// stateWithoutOutput returns the state without the values that are printed as the output.
func stateWithoutOutput(r *runner.Result) map[string]any {
	object, isObject := r.Output.(map[string]any)
	out := map[string]any{}
	for key, value := range r.State {
		same := r.Output != nil && reflect.DeepEqual(value, r.Output)
		if isObject && object[key] != nil {
			same = same || reflect.DeepEqual(value, object[key])
		}
		if !same {
			out[key] = value
		}
	}
	return out
}

// summaryLines describes the end of a run and the commands that may follow.
func (a *app) summaryLines(r *runner.Result, c terminal.Colors) []string {
	lines := runview.Summarize(r, c)
	if next := a.next(r); next != "" {
		lines = append(lines, "  "+next)
	}
	return lines
}

// value prints the output of a run: text unchanged, other values as JSON, null not at all.
func (o *runOutput) value(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		if o.app.StdoutTerminal {
			v = terminal.Text(v)
		}
		_, err := fmt.Fprintln(o.app.Stdout, v)
		return err
	}
	return writeJSON(o.app.Stdout, v, true)
}

// sinkFunc is a function that takes events.
type sinkFunc func(e *runner.Event) error

// Event calls the function.
func (f sinkFunc) Event(e *runner.Event) error { return f(e) }

// filtered passes on events that keep selects, or all if it is nil.
func filtered(next runner.Sink, keep func(runner.EventType) bool) runner.Sink {
	return sinkFunc(func(e *runner.Event) error {
		if keep != nil && !keep(e.Type) {
			return nil
		}
		return next.Event(e)
	})
}

// eventGroups maps the event groups of --stream to the beginnings of their events' types.
var eventGroups = map[string][]string{
	"checkpoints": {string(runner.Checkpoint)},
	"custom":      {string(runner.NodeEvent)},
	"debug":       {"node_", "branches_", string(runner.ToolCalled), string(runner.Checkpoint)},
	"messages":    {string(runner.NodeOutput), string(runner.LLMUsage)},
	"tasks":       {"node_", "branches_", string(runner.ToolCalled)},
	"thinking":    {string(runner.NodeThinking)},
	"updates":     {string(runner.StateUpdated), string(runner.EdgesResolved)},
}

// streamNames returns the event groups, sorted.
func streamNames() []string { return slices.Sorted(maps.Keys(eventGroups)) }

// streamFilter returns a filter for events of some groups; without groups it selects all.
func streamFilter(groups []string) func(runner.EventType) bool {
	if len(groups) == 0 {
		return nil
	}
	beginnings := []string{"run_"}
	for _, group := range groups {
		beginnings = append(beginnings, eventGroups[group]...)
	}
	return func(t runner.EventType) bool {
		return slices.ContainsFunc(beginnings, func(s string) bool { return strings.HasPrefix(string(t), s) })
	}
}

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
