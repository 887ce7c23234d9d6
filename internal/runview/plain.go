// The view of a run without a terminal: a line per event.

package runview

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
)

// startedAfter is how long a node runs before a line says that it has started.
const startedAfter = 10 * time.Second

// Plain prints lines as things happen.
type Plain struct {
	mu      sync.Mutex // guards the fields below
	out     io.Writer
	tracer  *Tracer
	text    streams
	thought streams
	held    bool     // a question uses the terminal
	kept    []string // lines to print after release
	// after starts a timer. If it is nil, long-running nodes are not announced.
	after func(d time.Duration, f func()) (stop func() bool)
	// alarms are stopped when their node ends.
	alarms map[string]func() bool
}

// NewPlain returns a view that writes to out. after starts a timer for nodes that run long;
// it is nil when a recorded run is shown.
func NewPlain(out io.Writer, t *Tracer, after func(d time.Duration, f func()) (stop func() bool)) *Plain {
	return &Plain{out: out, tracer: t, after: after}
}

// Event prints the lines of an event.
func (v *Plain) Event(e *runner.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e = inspect.Placed(e)
	v.print(v.thought.thoughtLines(v.tracer, e))
	switch e.Type {
	case runner.NodeStarted:
		v.print(v.tracer.Lines(e))
		if !slices.Contains([]string{"set", "pass", "fail", ""}, e.Kind) && e.Attempt <= 1 {
			v.watch(e)
		}
		return
	case runner.NodeOutput:
		v.streamed(e)
		return
	case runner.NodeEvent:
		if e.Said != nil && e.Said.Type == "progress" {
			v.print([]string{v.tracer.start(e) + progressText(e.Said)})
			return
		}
	case runner.NodeRetrying, runner.NodeCompleted, runner.NodeFailed:
		v.printText(e, v.text.end(e.Node))
		if e.Type != runner.NodeRetrying {
			v.unwatch(e.Node)
		}
	}
	v.print(v.tracer.Lines(e))
}

// watch prints a line when a node has run for startedAfter.
func (v *Plain) watch(e *runner.Event) {
	if v.after == nil {
		return
	}
	if v.alarms == nil {
		v.alarms = map[string]func() bool{}
	}
	node, step, visit := e.Node, e.Step, e.Visit
	v.unwatch(node)
	v.alarms[node] = v.after(startedAfter, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.alarms[node] == nil {
			return // it has just ended
		}
		text := "started " + Clock(startedAfter) + " ago"
		if e := v.tracer.elements[node]; e != nil {
			text += ": " + e.progress()
		}
		v.print([]string{v.tracer.columns.start(v.tracer.colors, step, node, visit) + v.tracer.colors.Quiet(text)})
	})
}

func (v *Plain) unwatch(node string) {
	if stop := v.alarms[node]; stop != nil {
		stop()
		delete(v.alarms, node)
	}
}

// streamed prints the complete lines of a node's text.
func (v *Plain) streamed(e *runner.Event) {
	if e.Said == nil {
		return
	}
	v.printText(e, v.text.add(e.Node, e.Said.Text))
	if e.Said.Final || e.Said.Broken {
		v.printText(e, v.text.end(e.Node))
	}
	if e.Said.Broken {
		v.print([]string{v.tracer.start(e) + v.tracer.colors.Warn("| (interrupted: the text above is not part of the answer)")})
	}
}

// printText prints lines of a node's text.
func (v *Plain) printText(e *runner.Event, lines []string) {
	for _, line := range lines {
		v.print([]string{v.tracer.start(e) + "| " + terminal.Line(line)})
	}
}

func progressText(s *runner.Said) string {
	text := fmt.Sprintf("%3.0f%%", s.Percent)
	if s.Message != "" {
		text += " " + terminal.Line(s.Message)
	}
	return text
}

func (v *Plain) print(lines []string) {
	if v.held {
		v.kept = append(v.kept, lines...)
		return
	}
	for _, line := range lines {
		fmt.Fprintln(v.out, line)
	}
}

// Note prints a remark of the program itself.
func (v *Plain) Note(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.print([]string{text})
}

// Hold keeps lines until release is called.
func (v *Plain) Hold() func() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held = true
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.release()
	}
}

func (v *Plain) release() {
	kept := v.kept
	v.held, v.kept = false, nil
	v.print(kept)
}

// Close prints pending lines.
func (v *Plain) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, node := range slices.Sorted(maps.Keys(v.alarms)) {
		v.unwatch(node)
	}
	v.release()
	v.print(v.tracer.Flush())
}
