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

// streams holds the unfinished lines of streamed text by node.
type streams map[string]string

// add adds text of a node and returns the lines that it completes.
func (s *streams) add(node, text string) []string {
	if *s == nil {
		*s = streams{}
	}
	lines := strings.Split((*s)[node]+text, "\n")
	last := len(lines) - 1
	(*s)[node] = lines[last]
	return lines[:last]
}

// end returns the unfinished line of a node, if any.
func (s *streams) end(node string) []string {
	rest := (*s)[node]
	delete(*s, node)
	if rest == "" {
		return nil
	}
	return []string{rest}
}

// thoughtLines returns the thinking lines that an event completes. The end of the node, or other
// output of it, completes the last line.
func (s *streams) thoughtLines(tracer *Tracer, e *runner.Event) (out []string) {
	var whole []string
	switch e.Type {
	case runner.NodeThinking:
		whole = s.add(e.Node, e.Said.Text)
	case runner.NodeOutput, runner.NodeRetrying, runner.NodeCompleted, runner.NodeFailed:
		whole = s.end(e.Node)
	}
	for _, line := range whole {
		if line != "" {
			out = append(out, tracer.start(e)+tracer.colors.Quiet("~ "+terminal.Line(line)))
		}
	}
	return out
}
