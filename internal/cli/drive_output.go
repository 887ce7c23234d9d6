// Where a run's events and its result go.

package cli

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// runOutput is the sink of a run: the view on stderr, JSON lines on stdout and
// in the trace file.
type runOutput struct {
	app     *app
	format  string
	stream  []string     // what jsonl shows; none: all
	view    runview.View // nil: nobody watches
	colors  runview.Colors
	writers []*eventWriter
	trace   *os.File
}

func (a *app) newRunOutput(g *spec.Graph, f *driveFlags) (*runOutput, error) {
	o := &runOutput{app: a, format: f.output.value, stream: f.stream.values, colors: runview.NewColors(a.colorOn(a.StderrTerminal))}
	if f.trace != "" {
		file, err := os.OpenFile(f.trace, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, usagef("--trace: %w", err)
		}
		o.trace = file
		o.writers = append(o.writers, newEventWriter(file, nil))
	}
	if o.format == "jsonl" {
		o.writers = append(o.writers, newEventWriter(a.Stdout, streamFilter(f.stream.values)))
	}
	tracer := runview.NewTracer(g, o.colors)
	switch {
	case f.quiet:
	case o.format == "jsonl" && a.StdoutTerminal: // the events are the view
	case a.StderrTerminal && os.Getenv("TERM") != "dumb":
		o.view = runview.NewLive(a.Stderr, a.Now, a.Columns, tracer)
	case o.format == "text":
		o.view = runview.NewPlain(a.Stderr, tracer, afterFunc)
	}
	return o, nil
}

// afterFunc calls f after d, in a goroutine of its own.
func afterFunc(d time.Duration, f func()) (stop func() bool) { return time.AfterFunc(d, f).Stop }

// sink is who wants the events; nil when nobody does, which makes a step several times
// as fast. Where the run is kept, the events are made at least for their numbers.
func (o *runOutput) sink() runner.Sink {
	if _, unread := o.app.store.open.(*unkept); unread && o.view == nil && len(o.writers) == 0 {
		return nil
	}
	return o
}

// warn is who wants the warnings; nil where they are among the events that are shown.
func (o *runOutput) warn() func(node, message string) {
	if o.view != nil || o.shown(runner.NodeEvent) {
		return nil
	}
	return func(node, message string) {
		if node != "" { // else it is a warning of the run
			node += ": "
		}
		o.note("warning: " + node + terminal.Line(message))
	}
}

// Event passes an event on.
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

// hold leaves the terminal to somebody else until release is called.
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
	fmt.Fprintf(o.app.Stderr, "graphrun: %s\n", text)
}

// close ends the view and writes out what is buffered.
func (o *runOutput) close() error {
	if o.view != nil {
		o.view.Close()
	}
	var errs []error
	for _, w := range o.writers {
		errs = append(errs, w.close())
	}
	if o.trace != nil {
		errs = append(errs, o.trace.Close())
	}
	return errors.Join(errs...)
}

// result prints the result: to stdout what the run gave, to stderr how it went.
func (o *runOutput) result(r *runner.Result) error {
	a := o.app
	if o.view != nil {
		columns := 0 // of a log: as wide as it gets
		if a.StderrTerminal && a.Columns != nil {
			columns = a.Columns()
		}
		shown := *r
		if o.format == "text" {
			shown.State = stateWithoutOutput(r)
		}
		for _, line := range a.summary(&shown, o.colors) {
			for _, part := range terminal.Wrap(line, columns, 4) {
				fmt.Fprintln(a.Stderr, part)
			}
		}
	} else if r.Status != machine.Completed {
		fmt.Fprintf(a.Stderr, "graphrun: %s\n", headline(r))
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

// value prints a run's output: text as it is, other values as JSON, null not
// at all.
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
