// Package runview shows runs as text: the trace, live or plain, logs, questions, the end of a
// run, decisions, and the bounds and tests of a flow.
package runview

import (
	"strings"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
)

// View shows a run while it runs. Its methods may be called from several goroutines.
type View interface {
	// Event shows an event.
	Event(e *runner.Event)
	// Note shows a remark of graphrun itself.
	Note(text string)
	// Hold keeps the view from writing until release is called.
	Hold() (release func())
	// Close shows pending lines and restores the terminal.
	Close()
}

// thoughts holds unfinished lines of thinking text by node.
type thoughts map[string]string

// lines returns the thinking lines that an event completes. The end of the node, or other
// output of it, completes the last line.
func (t *thoughts) lines(tracer *Tracer, e *runner.Event) []string {
	var whole []string
	switch e.Type {
	case runner.NodeThinking:
		if *t == nil {
			*t = thoughts{}
		}
		whole = strings.Split((*t)[e.Node]+e.Said.Text, "\n")
		last := len(whole) - 1
		(*t)[e.Node], whole = whole[last], whole[:last]
	case runner.NodeOutput, runner.NodeRetrying, runner.NodeCompleted, runner.NodeFailed:
		whole = []string{(*t)[e.Node]}
		delete(*t, e.Node)
	}
	var out []string
	for _, line := range whole {
		if line != "" {
			out = append(out, tracer.start(e)+tracer.colors.Quiet("~ "+terminal.Line(line)))
		}
	}
	return out
}
