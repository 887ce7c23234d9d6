// Replays that check: why another version of a graph leads elsewhere.

package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// itself reports whether the machine executes a node itself now: then the walk needs
// nothing that was recorded of it.
func (w *walker) itself(node string) bool {
	n := w.driver.flow.graph.Node(node)
	return n != nil && n.Kind.Value != "human" && slices.Contains(machineKinds(), n.Kind.Value)
}

// addReasons names what about the graphs, or how the walk stands, makes it lead
// elsewhere at a node.
func addReasons(d *view.Divergence, then, now *walker, nodes ...string) {
	var out []string
	if began, begins := then.driver.plan.Start(), now.driver.plan.Start(); began != begins {
		out = append(out, fmt.Sprintf("the start is %q now (%s), it was %q", begins, now.at(now.driver.flow.graph.Start.Span), began))
		if len(d.Now) == 0 {
			d.Now = []string{begins}
		}
	}
	if s := now.driver.state; s.Ended() && !then.driver.state.Ended() {
		out = append(out, now.endedBy())
		if len(d.Now) == 0 {
			d.Now = now.wants()
		}
	}
	for _, node := range nodes {
		if text := differs(then, now, node); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	d.Why = append(out, d.Why...)
}

// endedBy says why a walk has ended.
func (w *walker) endedBy() string {
	s := w.driver.state
	text := "the run ends here: " + strings.TrimSuffix(string(s.Status)+", "+s.Reason, ", ")
	if s.Failure != nil {
		text += ": " + w.driver.mask.Text(s.Failure.Message)
	}
	return text
}

// differs says how the definition of a node differs; "" when it does not.
func differs(then, now *walker, node string) string {
	was, is := then.driver.flow.graph.Node(node), now.driver.flow.graph.Node(node)
	switch {
	case was == nil:
		return ""
	case is == nil:
		return fmt.Sprintf("there is no node %q any more", node)
	case was.Kind.Value != is.Kind.Value:
		return fmt.Sprintf("node %q is of kind %s now (%s), it was of kind %s", node, is.Kind.Value, now.at(is.Kind.Span), was.Kind.Value)
	case then.text(was.Span) != now.text(is.Span):
		return fmt.Sprintf("the definition of node %q differs (%s)", node, now.at(is.Span))
	}
	return ""
}

func (w *walker) at(span spec.Span) string {
	file := w.driver.flow.graph.File
	at := file.Position(span.From)
	return fmt.Sprintf("%s:%d:%d", file.Name, at.Line, at.Column)
}

func (w *walker) text(span spec.Span) string {
	src := w.driver.flow.graph.File.Src
	return strings.Join(strings.Fields(string(src[span.From:min(span.To, len(src))])), " ")
}

// follow applies an event that the other walk has applied. Of nodes that the graph
// executes itself now nothing that is recorded is needed; those that it executed
// itself then give what they gave.
func (w *walker) follow(then *walker, event *machine.Event) error {
	if superstep := w.driver.state.Superstep; w.lenient && w.due && event.Kind == machine.Advanced && event.Superstep != superstep {
		own := *event // its supersteps may have other numbers
		own.Superstep, event = superstep, &own
	}
	if w.lenient && w.itself(event.Task.Node) {
		w.fresh, w.routes = w.fresh[:0], w.routes[:0]
	} else if err := w.step(event); err != nil {
		return err
	}
	if !w.lenient {
		return nil
	}
	var given []machine.Event
	notes := then.driver.state.Notes()
	for i := range notes {
		n := &notes[i]
		if n.Kind != machine.NoteNodeCompleted && n.Kind != machine.NoteNodeFailed {
			continue
		}
		id := machine.TaskID{Node: then.driver.plan.NodeID(n.Node), Visit: int(n.Visit), Attempt: max(1, int(n.Attempt))}
		if then.itself(id.Node) && !w.itself(id.Node) && w.asked[id] {
			given = append(given, machine.Event{Kind: machine.TaskEnded, Task: id, At: event.At, Output: machine.Plain(n.Output), Failure: n.Failure})
		}
	}
	routes := slices.Clone(w.routes)
	for i := range given {
		if err := w.step(&given[i]); err != nil {
			return err
		}
		routes = append(routes, w.routes...)
	}
	w.routes = routes
	return nil
}

// wants are the executions that a walk waits for, or how it has ended.
func (w *walker) wants() []string {
	s := w.driver.state
	if s.Ended() {
		return []string{strings.TrimSuffix(string(s.Status)+" "+s.Reason, " ")}
	}
	out := []string{}
	for _, t := range s.Active() {
		out = append(out, fmt.Sprintf("%s #%d", t.Node, t.Visit))
	}
	return out
}

// refusedInput says which inputs another version of the graph needs that the run did
// not have, or which do not fit it.
func refusedInput(began *machine.Event, other *Flow) []string {
	if other == nil || began == nil || began.Kind != machine.RunBegan {
		return nil
	}
	has := map[string]any{}
	if began.Run != nil && began.Run.Session != nil {
		has = began.Run.Session
	}
	_, err := checkInput(other.graph, began.Input, has)
	var refused *InputError
	if errors.As(err, &refused) {
		return refused.Problems
	}
	return nil
}

// nodesOf are the nodes of executions that are written as "node #visit".
func nodesOf(executions []string) []string {
	out := make([]string, len(executions))
	for i, text := range executions {
		out[i], _, _ = strings.Cut(text, " #")
	}
	return out
}
