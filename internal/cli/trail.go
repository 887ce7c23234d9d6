// What a run came through, for drawings of it.

package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// trail walks the run and returns what it came through; its result is kept, and
// with whole all that is told of it.
func (r *paintedRun) trail(whole bool) (*render.Trail, error) {
	t := trailSink{newTrail(), map[string]runner.Event{}}
	told := sinks{&t}
	if whole {
		told = append(told, &r.events, r.decided)
	}
	result, err := r.show(-1, true, told)
	if err != nil {
		return nil, err
	}
	r.result = result
	t.end(result)
	return t.trail, nil
}

// sinks tells several sinks of each event.
type sinks []runner.Sink

// Event tells all of an event, until one fails.
func (s sinks) Event(e *runner.Event) error {
	for _, sink := range s {
		if err := sink.Event(e); err != nil {
			return err
		}
	}
	return nil
}

// trailSink gathers a trail from events, those of subgraphs too.
type trailSink struct {
	trail *render.Trail
	// ended are the visits that have, by node and number. One that a run is taken up
	// in ends once more: only the last end counts.
	ended map[string]runner.Event
}

func newTrail() *render.Trail {
	return &render.Trail{
		Visits: map[string]int{}, Spent: map[string]time.Duration{}, Fired: map[int]int{}, Gone: map[[2]string]int{},
		Failures: map[string]int{}, Errors: map[string]*machine.Failure{}, Inner: map[string]*render.Trail{},
	}
}

// Event adds what an event tells.
func (s *trailSink) Event(e *runner.Event) error {
	switch e.Type {
	case runner.NodeCompleted, runner.NodeFailed:
		if e.Step == 0 && !e.Finally { // cancelled: no visit
			return nil
		}
		t, node := at(s.trail, e.Node)
		visit := placed(e).Node + "#" + strconv.Itoa(e.Visit)
		if before, again := s.ended[visit]; again {
			t.Visits[node]--
			t.Spent[node] -= before.Duration
			if before.Type == runner.NodeFailed {
				t.Failures[node]--
			}
		}
		s.ended[visit] = runner.Event{Type: e.Type, Duration: e.Duration}
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
	return nil
}

// end adds how the run stands.
func (s *trailSink) end(r *runner.Result) {
	if r.Error != nil {
		s.trail.Failed = r.Error.Node
	}
	for i := range r.Pending {
		alongPath(s.trail, r.Pending[i].Node, func(t *render.Trail, node string) { t.Waiting = append(t.Waiting, node) })
	}
	if r.PausedAt != nil && r.PausedAt.Phase == "before" {
		s.trail.Waiting = append(s.trail.Waiting, r.PausedAt.Nodes...)
	}
	for i := range r.Running {
		alongPath(s.trail, r.Running[i].Node, func(t *render.Trail, node string) { t.Running = append(t.Running, node) })
	}
}

// at is the trail that holds a node, and its id there, by the path of the node:
// outer/inner, or outer[2]/inner in an element of an each.
func at(t *render.Trail, path string) (trail *render.Trail, node string) {
	alongPath(t, path, func(t *render.Trail, id string) { trail, node = t, id })
	return trail, node
}

// alongPath visits each node of a path, from the outermost in.
func alongPath(t *render.Trail, path string, visit func(t *render.Trail, node string)) {
	for part := range strings.SplitSeq(path, "/") {
		node, _, _ := strings.Cut(part, "[")
		visit(t, node)
		if t.Inner[node] == nil {
			t.Inner[node] = newTrail()
		}
		t = t.Inner[node]
	}
}
