// Trails of runs for drawings, and the places of events.

package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// trailBuilder builds a trail from events, including those of subgraphs.
type trailBuilder struct {
	trail *render.Trail
	// ended holds the ends of visits by node and number. After a resume a visit may end again;
	// the last end counts.
	ended map[string]visitEnd
	// visits are the latest visits of nodes by place. Those of a subgraph restart with each visit
	// of its node.
	visits map[string]int
}

// visitEnd is the end of a visit.
type visitEnd struct {
	failed bool
	spent  time.Duration
}

func newTrailBuilder() *trailBuilder {
	return &trailBuilder{render.NewTrail(), map[string]visitEnd{}, map[string]int{}}
}

// add adds an event to the trail.
func (s *trailBuilder) add(e *runner.Event) {
	switch e.Type {
	case runner.NodeStarted:
		s.visits[withoutCall(Placed(e).Node)] = e.Visit
	case runner.NodeCompleted, runner.NodeFailed:
		if e.Step == 0 && !e.Finally { // cancelled: no visit
			return
		}
		t, node := at(s.trail, e.Node)
		visit := s.visit(Placed(e).Node, e.Visit)
		if before, again := s.ended[visit]; again {
			t.Visits[node]--
			t.Spent[node] -= before.spent
			if before.failed {
				t.Failures[node]--
			}
		}
		s.ended[visit] = visitEnd{e.Type == runner.NodeFailed, e.Duration}
		t.Visits[node]++
		t.Spent[node] += e.Duration
		delete(t.Errors, node)
		if e.Type == runner.NodeFailed {
			t.Failures[node]++
			t.Errors[node] = e.Error
		}
	case runner.EdgesResolved:
		t, node := at(s.trail, e.Node)
		for i := range e.Candidates {
			switch c := &e.Candidates[i]; {
			case !c.Fired:
			case c.Edge >= 0:
				t.Fired[c.Edge]++
			default: // a label of ends
				t.Gone[[2]string{node, c.To}]++
			}
		}
	}
}

// visit returns a key for a visit: its place, its number and those of enclosing visits.
func (s *trailBuilder) visit(place string, number int) string {
	var out strings.Builder
	for at := range len(place) {
		if place[at] == '/' {
			fmt.Fprintf(&out, "%s %d ", place[:at], s.visits[withoutCall(place[:at])])
		}
	}
	fmt.Fprintf(&out, "%s %d", place, number)
	return out.String()
}

// withoutCall returns the place of a node without the number of the tool call that runs a graph.
func withoutCall(place string) string {
	if at := strings.LastIndexByte(place, '#'); at > strings.LastIndexByte(place, '/') {
		return place[:at]
	}
	return place
}

// end adds the status of the run.
func (s *trailBuilder) end(r *runner.Result) {
	s.markFailed(r.Error)
	for i := range r.Pending {
		eachNodeOnPath(s.trail, r.Pending[i].Node, func(t *render.Trail, node string) { t.Waiting = append(t.Waiting, node) })
	}
	if r.PausedAt != nil && r.PausedAt.Phase == "before" {
		s.trail.Waiting = append(s.trail.Waiting, r.PausedAt.Nodes...)
	}
	for i := range r.Running {
		eachNodeOnPath(s.trail, r.Running[i].Node, func(t *render.Trail, node string) { t.Running = append(t.Running, node) })
	}
}

// markFailed marks the node whose failure ended the run, also in the subgraphs around it.
func (s *trailBuilder) markFailed(f *machine.Failure) {
	if f == nil {
		return
	}
	t, node, details := s.trail, f.Node, f.Details
	for node != "" && t != nil {
		t.Failed = node
		cause, _ := details["error"].(map[string]any)
		t = t.Inner[node]
		node, _ = cause["node"].(string)
		details, _ = cause["details"].(map[string]any)
	}
}

// at returns the trail that holds a node, and the node's id there, for a path such as
// outer/inner or outer[2]/inner.
func at(t *render.Trail, path string) (trail *render.Trail, node string) {
	eachNodeOnPath(t, path, func(t *render.Trail, id string) { trail, node = t, id })
	return trail, node
}

// eachNodeOnPath calls a function for each node of a path, outermost first.
func eachNodeOnPath(t *render.Trail, path string, visit func(t *render.Trail, node string)) {
	for part := range strings.SplitSeq(path, "/") {
		node, _, _ := strings.Cut(part, "[")
		visit(t, node)
		if t.Inner[node] == nil {
			t.Inner[node] = render.NewTrail()
		}
		t = t.Inner[node]
	}
}

// Placed returns a copy of an event with the indexes of enclosing elements in node names, as
// in s[1]/write.
func Placed(e *runner.Event) *runner.Event {
	if e.Place == "" {
		return e
	}
	own := *e
	around := e.Place
	if e.Node != "" {
		own.Node, around = e.Place, e.Place[:max(0, strings.LastIndexByte(e.Place, '/'))]
	}
	inside := func(names []string) []string {
		names = slices.Clone(names)
		for i, name := range names {
			if at := strings.LastIndexByte(name, '/'); at >= 0 {
				names[i] = around + name[at:]
			}
		}
		return names
	}
	own.From, own.Next = inside(e.From), inside(e.Next)
	return &own
}
