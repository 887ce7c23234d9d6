// Runs and test coverage, painted on drawings.

package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Trail records which nodes and edges a run, or tests, reached. The zero value is a run that
// has not started.
type Trail struct {
	// Visits counts the runs of nodes by id; Spent sums their times.
	Visits map[string]int
	Spent  map[string]time.Duration
	// Fired counts how often edges fired, by index.
	Fired map[int]int
	// Gone counts how often a node's goto chose a target.
	Gone map[[2]string]int
	// Failures counts the failed visits of nodes by id; Errors holds the failure of the latest
	// visit if it failed.
	Failures map[string]int
	Errors   map[string]*machine.Failure
	// Failed is the node whose failure ended the run, or "". Waiting and Running list waiting and
	// running nodes.
	Failed           string
	Waiting, Running []string
	// Inner are the trails of subgraphs by node id.
	Inner map[string]*Trail
	// Coverage says that the trail shows test coverage: Visits and Fired are 1 or 0.
	Coverage bool
}

// NewTrail returns the trail of a run that has not started, with maps to fill.
func NewTrail() *Trail {
	return &Trail{
		Visits: map[string]int{}, Spent: map[string]time.Duration{}, Fired: map[int]int{}, Gone: map[[2]string]int{},
		Failures: map[string]int{}, Errors: map[string]*machine.Failure{}, Inner: map[string]*Trail{},
	}
}

// innerTrail returns the trail of the graph that a node runs, or nil for coverage.
func (t *Trail) innerTrail(node string) *Trail {
	if t.Coverage {
		return nil
	}
	if inner := t.Inner[node]; inner != nil {
		return inner
	}
	return &Trail{}
}

// Mark says how to paint a box or an arrow. The zero value leaves it unpainted.
type Mark int

// The marks.
const (
	Untouched Mark = iota + 1 // not reached
	Touched
	Unwell      // a visit failed and the run continued
	FailedHere  // the run failed here
	WaitingHere // the run waits here
	RunningHere // the run is here
	Missed      // not covered by tests
)

// paint marks the boxes and arrows of a drawing.
func (t *Trail) paint(d *Drawing) {
	for i := range d.Arrows {
		a := &d.Arrows[i]
		if t.Coverage && (a.Role == GotoArrow || a.Role == FinallyArrow) {
			continue // coverage does not know it
		}
		a.Taken = t.timesTaken(a)
		a.Mark = t.markOf(a.Taken)
		if a.Taken > 1 && a.Role != StartArrow {
			a.Label = strings.TrimSpace(a.Label + " " + times(a.Taken))
		}
	}
	for i := range d.Boxes {
		t.paintBox(d, &d.Boxes[i])
	}
}

func (t *Trail) paintBox(d *Drawing, b *Box) {
	n, failed := t.Visits[b.ID], t.Failures[b.ID]
	b.Mark = t.markOf(n)
	switch b.Role {
	case StartBox:
		b.Mark = t.markOf(len(t.Visits))
		return
	case EndBox:
		b.Mark = t.markOf(timesEnded(d))
		return
	case NodeBox:
	}
	switch {
	case b.ID == t.Failed:
		b.Mark, failed = FailedHere, max(failed, 1)
	case failed > 0:
		b.Mark = Unwell
	}
	b.Notes = append(b.Notes, outcomes(n, failed)...)
	switch {
	case slices.Contains(t.Waiting, b.ID):
		b.Mark = WaitingHere
		b.Notes = append(b.Notes, "waiting")
	case slices.Contains(t.Running, b.ID):
		b.Mark = RunningHere
		b.Notes = append(b.Notes, "running")
	case b.Mark == Missed:
		b.Notes = append(b.Notes, "not covered")
	}
	b.Outcome = &Outcome{Status: t.status(b), Visits: n, Spent: t.Spent[b.ID], Error: t.Errors[b.ID]}
}

// statuses are the statuses of nodes whose mark alone decides.
var statuses = map[Mark]string{WaitingHere: "waiting", RunningHere: "running", FailedHere: "failed", Missed: "missed", Untouched: "untouched"}

// status returns the status of a node in one word.
func (t *Trail) status(b *Box) string {
	switch {
	case statuses[b.Mark] != "":
		return statuses[b.Mark]
	case t.Coverage:
		return "covered"
	case t.Errors[b.ID] != nil:
		return "failed"
	}
	return "completed"
}

// timesTaken returns how often an arrow fired.
func (t *Trail) timesTaken(a *Arrow) int {
	switch {
	case a.Role == StartArrow:
		return len(t.Visits)
	case a.Role == FinallyArrow:
		return min(t.Visits[a.From], t.Visits[a.To])
	case a.Edge != nil:
		return t.Fired[a.Edge.Index]
	}
	return t.Gone[[2]string{a.From, target(a)}]
}

// target returns the target of an arrow as the file names it.
func target(a *Arrow) string {
	if a.To == endID {
		return spec.END
	}
	return a.To
}

// timesEnded returns how often a branch reached END.
func timesEnded(d *Drawing) int {
	n := 0
	for i := range d.Arrows {
		if a := &d.Arrows[i]; a.To == endID {
			n += a.Taken
		}
	}
	return n
}

// outcomes returns notes about visits: "×3, 2 failed".
func outcomes(visits, failed int) []string {
	switch {
	case failed == 0 && visits < 2:
		return nil
	case failed == 0:
		return []string{times(visits)}
	case visits < 2:
		return []string{"failed"}
	case visits == failed:
		return []string{times(visits) + ", all failed"}
	}
	return []string{fmt.Sprintf("%s, %d failed", times(visits), failed)}
}

func (t *Trail) markOf(n int) Mark {
	switch {
	case n > 0:
		return Touched
	case t.Coverage:
		return Missed
	}
	return Untouched
}

func times(n int) string { return "×" + strconv.Itoa(n) }
