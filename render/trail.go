// What a run did to a graph, painted on its drawing.

package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// Trail is what a run came through. The zero value is that of a run that has
// not begun.
type Trail struct {
	// Visits says how often nodes ran, by id.
	Visits map[string]int
	// Fired says how often edges fired, by index.
	Fired map[int]int
	// Gone says how often a node's goto led to a target.
	Gone map[[2]string]int
	// Failures says how many of a node's visits failed, by id.
	Failures map[string]int
	// Failed is the node that ended the run, Waiting are those that the run
	// waits for; both may be empty.
	Failed  string
	Waiting []string
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
)

// paint marks the boxes and arrows of a drawing; edges says which arrow is
// which edge.
func (t *Trail) paint(d *Drawing, edges map[int]int) {
	for i := range d.Boxes {
		b := &d.Boxes[i]
		n := t.Visits[b.ID]
		b.Mark = touched(n)
		failed := t.Failures[b.ID]
		switch {
		case b.Role == StartBox:
			b.Mark = touched(len(t.Visits))
		case b.Role == EndBox:
			b.Mark = touched(t.ends(d, edges))
		case b.ID == t.Failed:
			b.Mark, failed = FailedHere, max(failed, 1)
		case failed > 0:
			b.Mark = Unwell
		}
		b.Notes = append(b.Notes, outcomes(n, failed)...)
	}
	for _, id := range t.Waiting {
		for i := range d.Boxes {
			if b := &d.Boxes[i]; b.ID == id {
				b.Mark = WaitingHere
				b.Notes = append(b.Notes, "waiting")
			}
		}
	}
	for i := range d.Arrows {
		a := &d.Arrows[i]
		n := t.taken(a, i, edges)
		a.Mark = touched(n)
		if n > 1 && a.Role != StartArrow {
			a.Label = strings.TrimSpace(a.Label + " " + times(n))
		}
	}
}

// taken is how often an arrow was taken.
func (t *Trail) taken(a *Arrow, place int, edges map[int]int) int {
	if a.Role == StartArrow {
		return len(t.Visits)
	}
	if a.Role == FinallyArrow {
		return min(t.Visits[a.From], t.Visits[a.To])
	}
	if edge, ok := edges[place]; ok {
		return t.Fired[edge]
	}
	to := a.To
	if to == endID {
		to = spec.END
	}
	return t.Gone[[2]string{a.From, to}]
}

// ends is how often the run, or a branch of it, came to END.
func (t *Trail) ends(d *Drawing, edges map[int]int) int {
	n := 0
	for i := range d.Arrows {
		if a := &d.Arrows[i]; a.To == endID {
			n += t.taken(a, i, edges)
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

func touched(n int) Mark {
	if n > 0 {
		return Touched
	}
	return Untouched
}

func times(n int) string { return "×" + strconv.Itoa(n) }
