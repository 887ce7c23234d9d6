// What nodes of finally came to, for a person.

package runview

import (
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/view"
)

// FinallyLines tell of the nodes of finally: nothing led to them but the end.
func FinallyLines(r *runner.Result, c Colors) []string {
	var out []string
	for i := range r.Finally {
		out = append(out, FinallyLine(&r.Finally[i], c))
	}
	if len(out) > 0 {
		out = append([]string{c.Quiet("the run ended as " + string(r.Status) + ", whereupon ran:")}, out...)
	}
	return out
}

// FinallyLine is a line of such a node.
func FinallyLine(f *view.FinallyResult, c Colors) string {
	line := "finally " + c.Strong(f.Node) + "  "
	switch f.Outcome {
	case "success":
		return line + c.Good("ok")
	case "skipped":
		return line + c.Warn("skipped: the run was cancelled, and there was no time left")
	}
	line += c.Bad("failed")
	if f.Error != nil {
		line += "  " + c.Bad(terminal.Truncate(FailureText(f.Error), 2*maxReason))
	}
	return line
}
