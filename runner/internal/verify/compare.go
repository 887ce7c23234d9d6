// Comparing two walks through one record.

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// Compare applies an event to both walks, which may be the same one, and returns
// where they part; nil: they do not.
func Compare(then, now *Walk, event *machine.Event) (*view.Divergence, error) {
	if err := then.Step(event); err != nil {
		return nil, err
	}
	if now != then {
		if err := now.follow(then, event); err != nil {
			return nil, err
		}
		if d := compareRoutes(then, now); d != nil {
			return d, nil
		}
		if !now.Lenient && !slices.Equal(then.fresh, now.fresh) {
			d := &view.Divergence{
				Recorded: slices.Clone(then.fresh), Now: slices.Clone(now.fresh), Why: []string{"other nodes are to run"},
			}
			addReasons(d, then, now, nodesOf(append(slices.Clone(then.fresh), now.fresh...))...)
			return d, nil
		}
	}
	if now.Lenient && now.itself(event.Task.Node) {
		return nil, nil
	}
	switch event.Kind {
	case machine.TaskNoted:
		return compareInside(then, now, event)
	case machine.TaskBegan, machine.TaskEnded:
		if !now.led(event) {
			d := &view.Divergence{
				Node: event.Task.Node, Recorded: []string{fmt.Sprintf("%s #%d", event.Task.Node, event.Task.Visit)}, Now: now.wants(),
				Why: []string{"the journal has an execution that nothing led to"},
			}
			if now != then {
				addReasons(d, then, now, append(nodesOf(d.Now), event.Task.Node)...)
			}
			return d, nil
		}
	}
	return nil, nil
}

// led reports whether the walk led to an execution.
func (w *Walk) led(event *machine.Event) bool { return w.asked[event.Task] }

// compareRoutes finds the first execution that leads elsewhere now.
func compareRoutes(then, now *Walk) *view.Divergence {
	then.ahead, now.ahead = append(then.ahead, then.routes...), append(now.ahead, now.routes...)
	both := min(len(then.ahead), len(now.ahead))
	for i := range both {
		was, is := &then.ahead[i], &now.ahead[i]
		if was.node != is.node || !slices.Equal(was.next, is.next) {
			d := &view.Divergence{
				Step: is.step, Node: is.node, Recorded: was.next, Now: is.next, RecordedEdges: was.edges, NowEdges: is.edges,
				Why: is.why, RecordedWhy: was.why,
			}
			addReasons(d, then, now, was.node)
			return d
		}
	}
	then.ahead, now.ahead = then.ahead[both:], now.ahead[both:]
	if len(then.ahead) == len(now.ahead) || now.Lenient && !now.State.Ended() {
		return nil
	}
	return leftover(then, now)
}

// leftover is the divergence of walks of which one goes on and the other does not.
func leftover(then, now *Walk) *view.Divergence {
	if len(then.ahead) == 0 && len(now.ahead) == 0 {
		return nil
	}
	d := &view.Divergence{Recorded: []string{}, Now: []string{}, Why: []string{"one of the walks goes on, the other does not"}}
	longer, targets := then.ahead, &d.Recorded
	if len(longer) == 0 {
		longer, targets = now.ahead, &d.Now
	} else {
		d.Now = now.wants()
	}
	d.Step, d.Node, *targets = longer[0].step, longer[0].node, longer[0].next
	if f := now.State.Failure; now.State.Ended() {
		d.Why = nil // the reasons have it
	} else if f != nil {
		d.Why = []string{now.Mask.Text(f.Error())}
	}
	addReasons(d, then, now, d.Node)
	return d
}

// Ends compares how both walks stand at the end of the journal.
func Ends(then, now *Walk) *view.Divergence {
	stand := func(w *Walk) []string {
		s := w.State
		return []string{strings.TrimSuffix(string(s.Status)+" "+s.Reason, " ")}
	}
	if now != then {
		if d := leftover(then, now); d != nil {
			return d
		}
	}
	was, is := stand(then), stand(now)
	if slices.Equal(was, is) {
		return nil
	}
	d := &view.Divergence{Recorded: was, Now: is, Why: []string{"the run ends otherwise"}}
	addReasons(d, then, now)
	return d
}

// NeverRan are the nodes that a divergence leads to and the record, which then has
// walked, never ran.
func NeverRan(then, now *Walk, d *view.Divergence) []string {
	ran := map[string]bool{}
	for _, node := range then.Path {
		ran[then.Plan.NodeID(node)] = true
	}
	var out []string
	for _, name := range d.Now {
		if now.Graph.Node(name) != nil && !ran[name] && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// RefusedInput says which inputs another version of a graph needs that the run did
// not have, or which do not fit it.
func RefusedInput(began *machine.Event, other *spec.Graph) []string {
	if other == nil || began == nil || began.Kind != machine.RunBegan {
		return nil
	}
	has := map[string]any{}
	if began.Run != nil && began.Run.Session != nil {
		has = began.Run.Session
	}
	_, wrong := input.Check(other, began.Input, has)
	return wrong
}
