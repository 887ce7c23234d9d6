// What a run, or tests, did to a graph, painted on its drawing.

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

// Trail is what a run, or tests, came through. The zero value is that of a run
// that has not begun.
type Trail struct {
	// Visits says how often nodes ran, by id; Spent how long in all.
	Visits map[string]int
	Spent  map[string]time.Duration
	// Fired says how often edges fired, by index.
	Fired map[int]int
	// Gone says how often a node's goto led to a target.
	Gone map[[2]string]int
	// Failures says how many of a node's visits failed, and Errors why the latest
	// did, if it did, by id.
	Failures map[string]int
	Errors   map[string]*machine.Failure
	// Failed is the node that ended the run, Waiting are those that the run
	// waits for, Running those that it is at; all may be empty.
	Failed           string
	Waiting, Running []string
	// Inner are the trails of the subgraphs that nodes ran, by id.
	Inner map[string]*Trail
	// Coverage says that the trail is that of tests: Visits and Fired are 1 for
	// what they came to, else 0.
	Coverage bool
}

// within is the trail of what a node runs; nil of tests, which tell of one graph.
func (t *Trail) within(node string) *Trail {
	if t.Coverage {
		return nil
	}
	if inner := t.Inner[node]; inner != nil {
		return inner
	}
	return &Trail{}
}

// Mark says how a box or an arrow is painted. The zero value is: as it is.
type Mark int

// The marks.
const (
	Untouched Mark = iota + 1 // the run has not come here
	Touched
	Unwell      // a visit failed, and the run went on
	FailedHere  // the run failed here
	WaitingHere // the run waits here
	RunningHere // the run is here
	Missed      // no test came here
)

// paint marks the boxes and arrows of a drawing.
func (t *Trail) paint(d *Drawing) {
	for i := range d.Arrows {
		a := &d.Arrows[i]
		if t.Coverage && (a.Role == GotoArrow || a.Role == FinallyArrow) {
			continue // tests say nothing of it
		}
		a.Taken = t.taken(a)
		a.Mark = t.touched(a.Taken)
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
	b.Mark = t.touched(n)
	switch b.Role {
	case StartBox:
		b.Mark = t.touched(len(t.Visits))
		return
	case EndBox:
		b.Mark = t.touched(ends(d))
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

// status is one word for how a node stands.
func (t *Trail) status(b *Box) string {
	switch b.Mark {
	case WaitingHere:
		return "waiting"
	case RunningHere:
		return "running"
	case FailedHere:
		return "failed"
	case Missed:
		return "missed"
	case Untouched:
		return "untouched"
	case Touched, Unwell:
	}
	switch {
	case t.Coverage:
		return "covered"
	case t.Errors[b.ID] != nil:
		return "failed"
	}
	return "completed"
}

// taken is how often an arrow was taken.
func (t *Trail) taken(a *Arrow) int {
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

// target is where an arrow leads, in the words of the file.
func target(a *Arrow) string {
	if a.To == endID {
		return spec.END
	}
	return a.To
}

// ends is how often the run, or a branch of it, came to END.
func ends(d *Drawing) int {
	n := 0
	for i := range d.Arrows {
		if a := &d.Arrows[i]; a.To == endID {
			n += a.Taken
		}
	}
	return n
}

// outcomes tells of visits in notes: "×3, 2 failed".
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

func (t *Trail) touched(n int) Mark {
	switch {
	case n > 0:
		return Touched
	case t.Coverage:
		return Missed
	}
	return Untouched
}

func times(n int) string { return "×" + strconv.Itoa(n) }
