// Trails of runs for drawings, and the places of events.

package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/runner"
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

type visitEnd struct {
	node   *render.NodeTrail
	failed bool
	spent  time.Duration
}

func (s *trailBuilder) addEvent(e *runner.Event) {
	switch e.Type {
	case runner.NodeStarted:
		s.visits[trimCall(WithPlaces(e).Node)] = e.Visit
	case runner.NodeCompleted, runner.NodeFailed:
		if e.Step == 0 && !e.Finally { // cancelled: no visit
			return
		}
		_, node := findNode(s.trail, e.Node)
		node.Error = nil
		if e.Type == runner.NodeFailed {
			node.Error = e.Error
		}
		s.ended[s.makeVisitKey(WithPlaces(e).Node, e.Visit)] = visitEnd{node, e.Type == runner.NodeFailed, e.Duration}
	case runner.EdgesResolved:
		graph, node := findNode(s.trail, e.Node)
		for i := range e.Candidates {
			switch c := &e.Candidates[i]; {
			case !c.Fired:
			case c.Edge >= 0:
				graph.Fired[c.Edge]++
			default: // a label of ends
				node.Gone[c.To]++
			}
		}
	}
}

// makeVisitKey identifies a visit by its place, its number and those of enclosing visits.
func (s *trailBuilder) makeVisitKey(place string, number int) string {
	var out strings.Builder
	for at := range len(place) {
		if place[at] == '/' {
			fmt.Fprintf(&out, "%s %d ", place[:at], s.visits[trimCall(place[:at])])
		}
	}
	fmt.Fprintf(&out, "%s %d", place, number)
	return out.String()
}

// trimCall returns the place of a node without the number of the tool call that runs a graph.
func trimCall(place string) string {
	if at := strings.LastIndexByte(place, '#'); at > strings.LastIndexByte(place, '/') {
		return place[:at]
	}
	return place
}

// addResult adds the visits and the status of the run.
func (s *trailBuilder) addResult(r *runner.Result) {
	for _, end := range s.ended {
		end.node.Visits++
		end.node.Spent += end.spent
		if end.failed {
			end.node.Failures++
		}
	}
	if r.Error != nil {
		markFailed(s.trail, r.Error.Node, r.Error.Details)
	}
	for i := range r.Pending {
		for _, n := range listNodes(s.trail, r.Pending[i].Node) {
			n.Waiting = true
		}
	}
	if r.PausedAt != nil && r.PausedAt.Phase == "before" {
		for _, node := range r.PausedAt.Nodes {
			s.trail.Node(node).Waiting = true
		}
	}
	for i := range r.Running {
		for _, n := range listNodes(s.trail, r.Running[i].Node) {
			n.Running = true
		}
	}
}

// markFailed marks the node whose failure ended the run, and the nodes in its subgraph that caused it.
func markFailed(t *render.Trail, node string, details map[string]any) {
	if node == "" || t == nil {
		return
	}
	t.Node(node).Failed = true
	cause, _ := details["error"].(map[string]any)
	inner, _ := cause["node"].(string)
	innerDetails, _ := cause["details"].(map[string]any)
	markFailed(t.Node(node).Inner, inner, innerDetails)
}

// findNode returns a node by a path such as outer[2]/inner, and the trail of its graph.
func findNode(t *render.Trail, path string) (graph *render.Trail, node *render.NodeTrail) {
	nodes := listNodes(t, path)
	if n := len(nodes); n > 1 {
		t = nodes[n-2].Inner
	}
	return t, nodes[len(nodes)-1]
}

// listNodes returns the nodes of a path, outermost first.
func listNodes(t *render.Trail, path string) (nodes []*render.NodeTrail) {
	for part := range strings.SplitSeq(path, "/") {
		id, _, _ := strings.Cut(part, "[")
		node := t.Node(id)
		if node.Inner == nil {
			node.Inner = render.NewTrail()
		}
		nodes, t = append(nodes, node), node.Inner
	}
	return nodes
}

// WithPlaces returns a copy of an event with indexes of elements in node names, as in s[1]/write.
func WithPlaces(e *runner.Event) *runner.Event {
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
