// Package runview shows runs as text: the trace, logs, questions, the end of a run, decisions,
// and the bounds and tests of a flow.
package runview

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
)

// announceDelay is how long a node runs before a line says that it has started.
const announceDelay = 10 * time.Second

// View shows a run while it runs. Several goroutines may use it.
type View struct {
	out io.Writer
	// after starts a timer. If it is nil, long-running nodes are not announced.
	after func(d time.Duration, f func()) (stop func() bool)

	mu       sync.Mutex // guards the fields below
	tracer   *Tracer
	pending  []string // finished lines that are not printed yet
	held     bool     // a question uses the terminal
	closed   bool
	thoughts map[string]string      // unfinished lines of thinking by node
	texts    map[string]string      // unfinished lines of text by node
	alarms   map[string]func() bool // stop the timers of running nodes
	bottom   *bottom                // the lines of running nodes; nil without a terminal
}

// NewPlain returns a view that prints a line per event. after starts a timer; it may be nil.
func NewPlain(out io.Writer, t *Tracer, after func(d time.Duration, f func()) (stop func() bool)) *View {
	return &View{out: out, tracer: t, after: after, alarms: map[string]func() bool{}, thoughts: map[string]string{}, texts: map[string]string{}}
}

// Event shows an event.
func (v *View) Event(e *runner.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e = inspect.WithPlaces(e)
	v.addThoughts(e)
	switch {
	case v.bottom != nil:
	case e.Type == runner.NodeStarted:
		v.startAlarm(e)
	case e.Type == runner.NodeOutput, e.Type == runner.NodeRetrying:
		v.addText(e)
	case e.Type == runner.NodeCompleted, e.Type == runner.NodeFailed:
		v.addText(e)
		v.stopAlarm(e.Node)
	case e.Type == runner.NodeEvent && e.Said != nil && e.Said.Type == "progress":
		v.addLine(e, formatProgress(e.Said))
	}
	v.pending = append(v.pending, v.tracer.Lines(e)...)
	if v.bottom == nil || v.bottom.recordEvent(e, v.tracer) {
		v.printPending()
	}
}

func (v *View) addLine(e *runner.Event, text string) {
	v.pending = append(v.pending, v.tracer.formatStart(e)+text)
}

// addThoughts adds the lines of a model's thinking that an event completes.
func (v *View) addThoughts(e *runner.Event) {
	var lines []string
	switch e.Type {
	case runner.NodeThinking:
		lines = cutLines(v.thoughts, e.Node, e.Said.Text, false)
	case runner.NodeOutput, runner.NodeRetrying, runner.NodeCompleted, runner.NodeFailed:
		lines = cutLines(v.thoughts, e.Node, "", true)
	}
	for _, line := range lines {
		if line != "" {
			v.addLine(e, v.tracer.colors.Quiet("~ "+terminal.Line(line)))
		}
	}
}

// addText adds the lines of a node's text that an event completes.
func (v *View) addText(e *runner.Event) {
	text, ends := "", e.Type != runner.NodeOutput
	if !ends && e.Said != nil {
		text, ends = e.Said.Text, e.Said.Final || e.Said.Broken
	}
	for _, line := range cutLines(v.texts, e.Node, text, ends) {
		v.addLine(e, "| "+terminal.Line(line))
	}
	if e.Said != nil && e.Said.Broken {
		v.addLine(e, v.tracer.colors.Warn("| (interrupted: the text above is not part of the answer)"))
	}
}

// startAlarm adds a line when a node has run for announceDelay.
func (v *View) startAlarm(e *runner.Event) {
	if v.after == nil || e.Attempt > 1 || slices.Contains([]string{"set", "pass", "fail", ""}, e.Kind) {
		return
	}
	own := *e
	v.stopAlarm(own.Node)
	v.alarms[own.Node] = v.after(announceDelay, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.alarms[own.Node] == nil {
			return // it has just ended
		}
		text := "started " + formatDuration(announceDelay) + " ago"
		text = joinNonEmpty(": ", text, v.tracer.elements[own.Node].progress)
		v.addLine(&own, v.tracer.colors.Quiet(text))
		v.printPending()
	})
}

func (v *View) stopAlarm(node string) {
	if stop := v.alarms[node]; stop != nil {
		stop()
		delete(v.alarms, node)
	}
}

func formatProgress(s *runner.Said) string {
	return joinNonEmpty(" ", fmt.Sprintf("%3.0f%%", s.Percent), terminal.Line(s.Message))
}

// printPending prints pending lines and, on a terminal, the bottom lines. Callers hold mu.
func (v *View) printPending() {
	switch {
	case v.closed || v.held:
		return
	case v.bottom != nil:
		v.drawBottom()
	default:
		for _, line := range v.pending {
			fmt.Fprintln(v.out, line)
		}
	}
	v.pending = v.pending[:0]
}

// Note shows a remark of graphrun itself.
func (v *View) Note(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.bottom != nil {
		text = v.tracer.colors.Warn(text)
	}
	v.pending = append(v.pending, text)
	v.printPending()
}

// StopPrinting clears the bottom lines and keeps the view from printing until resume is called.
func (v *View) StopPrinting() (resume func()) {
	setHeld := func(held bool) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.held = false
		if v.bottom != nil {
			v.bottom.hidden = held
		}
		v.printPending()
		v.held = held
	}
	setHeld(true)
	return func() { setHeld(false) }
}

// Close prints pending lines and removes the bottom lines.
func (v *View) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	for _, stop := range v.alarms {
		stop()
	}
	v.alarms, v.held = nil, false
	v.pending = append(v.pending, v.tracer.Flush()...)
	if v.bottom != nil {
		v.bottom.hidden = true
		close(v.bottom.stop)
	}
	v.printPending()
	v.closed = true
}

// cutLines adds streamed text to a node's unfinished line and returns the lines that are complete.
func cutLines(unfinished map[string]string, node, text string, ends bool) []string {
	lines := strings.Split(unfinished[node]+text, "\n")
	last := len(lines) - 1
	delete(unfinished, node)
	if ends && lines[last] != "" {
		return lines
	}
	if lines[last] != "" {
		unfinished[node] = lines[last]
	}
	return lines[:last]
}
