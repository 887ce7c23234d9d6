// What models think, line by line, as the views of a run show it.

package runview

import (
	"strings"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
)

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
