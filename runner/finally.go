// What the nodes of finally came to.

package runner

import (
	"math"

	"github.com/graphrun/graphrun/runner/machine"
)

// FinallyResult is what one node of finally came to.
type FinallyResult struct {
	Node string `json:"node"`
	// Outcome is success, failure, or skipped: the time that a cancelled run has
	// for finally was up before.
	Outcome string           `json:"outcome"`
	Error   *machine.Failure `json:"error"`
}

// orderOf is a record's place among others: what runs in finally has no step, and
// comes last.
func orderOf(h *HistoryRecord) int {
	if h.Finally {
		return math.MaxInt
	}
	return h.Step
}

func (d *driver) finally() []FinallyResult {
	var out []FinallyResult
	for _, end := range d.state.FinallyEnds() {
		result := FinallyResult{Node: end.Node, Outcome: "success", Error: d.mask.Failure(end.Failure)}
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
