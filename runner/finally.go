// What the nodes of finally came to.

package runner

import (
	"math"

	"github.com/graphrun/graphrun/runner/view"
)

// orderOf is a record's place among others: what runs in finally has no step, and
// comes last.
func orderOf(h *view.HistoryRecord) int {
	if h.Finally {
		return math.MaxInt
	}
	return h.Step
}

func (d *driver) finally() []view.FinallyResult {
	var out []view.FinallyResult
	for _, end := range d.state.FinallyEnds() {
		result := view.FinallyResult{Node: end.Node, Outcome: "success", Error: d.mask.Failure(end.Failure)}
		switch {
		case end.Skipped:
			result.Outcome = "skipped"
		case end.Failure != nil:
			result.Outcome = "failure"
		}
		out = append(out, result)
	}
	return out
}
