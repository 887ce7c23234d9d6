// Package runview shows people what a run does, in lines of text: a trace with a line per
// step, live on a terminal or plain, what programs said, what the run asks and how it
// ended, why it went where it went, and the bounds and tests of its flow.
package runview

import (
	"strings"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
)

// View shows a run to a person while it goes on. Its methods may be called from several
// goroutines.
type View interface {
	// Event takes what happens in the run.
	Event(e *runner.Event)
	// Note shows a remark of the program itself.
	Note(text string)
	// Hold keeps the view from writing until release is called.
	Hold() (release func())
	// Close shows what is left and leaves the terminal as it was.
	Close()
}

// thoughts are, by node, what its model thinks, without its line break yet.
type thoughts map[string]string

// lines are the lines that an event completes: those of a thought, and the rest of one
// that is over when the node says something or ends.
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
