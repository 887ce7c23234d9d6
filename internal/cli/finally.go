// What nodes of finally came to, for a person.

package cli

import (
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/view"
)

// finallyLines tell of the nodes of finally: nothing led to them but the end.
func finallyLines(r *runner.Result, c traceColors) []string {
	var out []string
	for i := range r.Finally {
		out = append(out, finallyLine(&r.Finally[i], c))
	}
	if len(out) > 0 {
		out = append([]string{c.quiet("the run ended as " + string(r.Status) + ", whereupon ran:")}, out...)
	}
	return out
}

func finallyLine(f *view.FinallyResult, c traceColors) string {
	line := "finally " + c.strong(f.Node) + "  "
	switch f.Outcome {
	case "success":
		return line + c.good("ok")
	case "skipped":
		return line + c.warn("skipped: the run was cancelled, and there was no time left")
	}
	line += c.bad("failed")
	if f.Error != nil {
		line += "  " + c.bad(terminal.Truncate(failureText(f.Error), 2*maxReason))
	}
	return line
}
