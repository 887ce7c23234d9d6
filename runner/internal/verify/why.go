// Replays that check: why another version of a graph leads elsewhere.

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// itself reports whether the machine executes a node itself now: then the walk needs
// nothing that was recorded of it.
func (w *Walk) itself(node string) bool {
	n := w.Graph.Node(node)
	return n != nil && slices.Contains([]string{"fail", "pass", "set", "wait"}, n.Kind.Value)
}

// addReasons names what about the graphs, or how the walk stands, makes it lead
// elsewhere at a node.
func addReasons(d *view.Divergence, then, now *Walk, nodes ...string) {
	var out []string
	if began, begins := then.Plan.Start(), now.Plan.Start(); began != begins {
		out = append(out, fmt.Sprintf("the start is %q now (%s), it was %q", begins, now.at(now.Graph.Start.Span), began))
		if len(d.Now) == 0 {
			d.Now = []string{begins}
		}
	}
	if s := now.State; s.Ended() && !then.State.Ended() {
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
func (w *Walk) endedBy() string {
	s := w.State
	text := "the run ends here: " + strings.TrimSuffix(string(s.Status)+", "+s.Reason, ", ")
	if s.Failure != nil {
		text += ": " + w.Mask.Text(s.Failure.Message)
	}
	return text
}

// differs says how the definition of a node differs; "" when it does not.
func differs(then, now *Walk, node string) string {
	was, is := then.Graph.Node(node), now.Graph.Node(node)
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

func (w *Walk) at(span spec.Span) string {
	file := w.Graph.File
	at := file.Position(span.From)
	return fmt.Sprintf("%s:%d:%d", file.Name, at.Line, at.Column)
}

func (w *Walk) text(span spec.Span) string {
	src := w.Graph.File.Src
	return strings.Join(strings.Fields(string(src[span.From:min(span.To, len(src))])), " ")
}

// follow applies an event that the other walk has applied. Of nodes that the graph
// executes itself now nothing that is recorded is needed; those that it executed
// itself then give what they gave.
func (w *Walk) follow(then *Walk, event *machine.Event) error {
	if superstep := w.State.Superstep; w.Lenient && w.due && event.Kind == machine.Advanced && event.Superstep != superstep {
		own := *event // its supersteps may have other numbers
		own.Superstep, event = superstep, &own
	}
	if w.Lenient && w.itself(event.Task.Node) {
		w.fresh, w.routes = w.fresh[:0], w.routes[:0]
	} else if err := w.Step(event); err != nil {
		return err
	}
	if !w.Lenient {
		return nil
	}
	var given []machine.Event
	notes := then.State.Notes()
	for i := range notes {
		n := &notes[i]
		if n.Kind != machine.NoteNodeCompleted && n.Kind != machine.NoteNodeFailed {
			continue
		}
		id := machine.TaskID{Node: then.Plan.NodeID(n.Node), Visit: int(n.Visit), Attempt: max(1, int(n.Attempt))}
		if then.itself(id.Node) && !w.itself(id.Node) && w.asked[id] {
			given = append(given, machine.Event{Kind: machine.TaskEnded, Task: id, At: event.At, Output: machine.Plain(n.Output), Failure: n.Failure})
		}
	}
	routes := slices.Clone(w.routes)
	for i := range given {
		if err := w.Step(&given[i]); err != nil {
			return err
		}
		routes = append(routes, w.routes...)
	}
	w.routes = routes
	return nil
}

// wants are the executions that a walk waits for, or how it has ended.
func (w *Walk) wants() []string {
	s := w.State
	if s.Ended() {
		return []string{strings.TrimSuffix(string(s.Status)+" "+s.Reason, " ")}
	}
	out := []string{}
	for _, t := range s.Active() {
		out = append(out, fmt.Sprintf("%s #%d", t.Node, t.Visit))
	}
	return out
}

// nodesOf are the nodes of executions that are written as "node #visit".
func nodesOf(executions []string) []string {
	out := make([]string, len(executions))
	for i, text := range executions {
		out[i], _, _ = strings.Cut(text, " #")
	}
	return out
}
