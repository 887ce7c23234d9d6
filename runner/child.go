// Subgraphs: nodes of kind graph (GraphSpec §4).

package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// nesting is where a subgraph's run stands in the run around it. The nil
// nesting is that of a run of its own.
type nesting struct {
	parent *driver
	task   machine.TaskID // that runs it
	node   string         // path of the node that runs it
	key    string
	left   int
	// stateBytes is the limit that the state of the run around it has, bytesAbove
	// whose that is.
	stateBytes, bytesAbove int
	shares                 bool     // its steps with other subgraphs
	prefix                 string   // the target of the node that runs it
	place                  string   // the task that runs it; see Task.Place
	elements               int      // see Task.Elements
	call                   int      // of a tool that it is, from 1; 0: a graph node runs it
	file                   string   // the graph, as the tools of the run around it name it
	naps                   bool     // whether it can leave off while only time passes
	hidden                 []string // what the run around it masks
	around                 []handler.ModelScope
	// calls are those beside the tool that it is; waits says that it waits for people
	// while they run.
	calls *toolGraphs
	waits bool
}

// path is the path of a node of the run: outer/inner.
func (n *nesting) path(node string) string {
	if n == nil {
		return node
	}
	return n.node + "/" + node
}

// placeOf is the place of a task: its node with the elements on its path.
func (n *nesting) placeOf(node string, index int) string {
	if n != nil {
		node = n.place + "/" + node
	}
	if index >= 0 {
		node += "[" + strconv.Itoa(index) + "]"
	}
	return node
}

// widest is how many elements the largest each has that a task is inside of, whose own
// has so many.
func (n *nesting) widest(own int) int {
	if n == nil {
		return own
	}
	return max(own, n.elements)
}

// prefixOf begins the targets of questions in a subgraph that a node runs, for
// an element of its `each` unless index is -1.
func (n *nesting) prefixOf(node string, index int) string {
	if n != nil {
		node = n.prefix + "/" + node
	}
	if index >= 0 {
		node += "[" + strconv.Itoa(index) + "]"
	}
	return node
}

// whole is the path of a node in an event, which may be from a deeper subgraph
// and whole already.
func (n *nesting) whole(name string) string {
	if name == "" || name == spec.END || strings.Contains(name, "/") {
		return name
	}
	return n.path(name)
}

// among is the place of a node of the run in an event; "" when the run is inside no
// element.
func (n *nesting) among(node string) string {
	switch {
	case n == nil || n.prefix == "" || n.prefix == n.node:
		return ""
	case node == "":
		return n.prefix
	}
	return n.prefix + "/" + node
}

func (n *nesting) info() *machine.ParentInfo {
	if n == nil {
		return nil
	}
	return &machine.ParentInfo{Key: n.key, StepsLeft: n.left, Shared: n.shares, MaxStateBytes: n.stateBytes, StateBytesAbove: n.bytesAbove}
}

// subgraph runs the graph of a graph node; end takes what the parent has to know.
// A subgraph that waits for people, or pauses, ends as a task that asks; it goes
// on from where it was. resting is where it was, nil when this process has not
// run it: its notes tell then.
func (d *driver) subgraph(id machine.TaskID, work *machine.Work, resting *driver, end *childEnd) Handler {
	stateBytes, bytesAbove := d.state.MaxStateBytes(), d.state.StateBytesAbove()+1
	hidden, settings, calls := slices.Clone(d.mask.Values), d.state.Models(), d.inside[id]
	naps := !d.state.InFinally()
	return HandlerFunc(func(ctx context.Context, task *Task) (any, error) {
		node := task.Node
		if d.nested != nil {
			node = strings.TrimPrefix(node, d.nested.node+"/")
		}
		s, err := d.newSubrun(d.flow.child(node), settings, &nesting{
			parent: d, task: id, node: task.Node, prefix: d.nested.prefixOf(node, task.Index), place: task.Place, elements: task.Elements, key: task.Key,
			left: work.StepsLeft, shares: work.SharesSteps, hidden: hidden, around: task.modelScopes(),
			naps: naps, stateBytes: stateBytes, bytesAbove: bytesAbove,
		})
		if err != nil {
			return nil, err
		}
		s.resting, s.calls, s.counted = resting, calls, work.StepsCounted
		s.opts.PauseBefore, s.opts.PauseAfter = work.PauseBefore, work.PauseAfter
		if task.Talk != nil {
			s.opts.taken.talk = outer(task.Talk.Messages)
		}
		child, result, err := s.run(ctx, task)
		if err != nil {
			return nil, err
		}
		child.mask.Learn(child.state.Values())
		d.hideAs(child.mask)
		if parked := child.parking(); parked != nil {
			taken, ended := child.state.Steps+child.state.ChildSteps, child.state.StepsEnded()
			end.resting, end.Steps, end.Waiting = child, taken, taken-ended
			return nil, parked
		}
		if task.Talk != nil {
			task.Talk.Say(child.state.Said()...)
		}
		return child.outcome(result, &end.ChildEnd)
	})
}

// outer are the messages of a conversation that a subgraph goes on with: who said
// them is none of its own nodes, even of the same name.
func outer(messages []handler.Message) []handler.Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Node = "../" + out[i].Node
	}
	return out
}

// childEnd is what a subgraph comes to besides its output: for the machine, and
// the driver to go on with if it has not ended.
type childEnd struct {
	machine.ChildEnd
	resting *driver
}

// hideAs makes the run hide what a subgraph hides, from the subgraph's goroutine.
func (d *driver) hideAs(mask *mask.Masker) {
	if len(mask.Values) > 0 {
		d.send(message{learn: slices.Clone(mask.Values), learned: slices.Clone(mask.Learned)})
	}
}

// learnInside hides what the secret keys of a subgraph held when it ended.
func (d *driver) learnInside(event *machine.Event) {
	child := d.flow.tree.Children[event.Task.Node]
	if child == nil || event.Kind != machine.TaskEnded {
		return
	}
	output, _ := event.Output.(map[string]any)
	state, _ := output["state"].(map[string]any)
	for _, key := range child.Graph.State {
		if value, ok := state[key.Name.Value]; ok && key.Secret {
			d.mask.LearnValue(value)
		}
	}
}

// outcome is what a subgraph's run means for the node that ran it.
func (d *driver) outcome(result *Result, end *machine.ChildEnd) (any, error) {
	s := d.state
	end.Steps, end.Degraded = s.Steps+s.ChildSteps, s.Quality == machine.Degraded
	if end.OutOfSteps = s.CutShort(); end.OutOfSteps {
		end.Above = s.CutBy() - 1
	}
	switch s.Status {
	case machine.Completed:
		return map[string]any{
			"output": s.Output, "state": s.Values(), "status": string(s.Status), "quality": string(s.Quality),
		}, nil
	case machine.Cancelled:
		return nil, &Failure{Kind: "cancelled", Message: "the subgraph was cancelled"}
	}
	message := "subgraph " + d.flow.tree.Graph.Name.Value + ": " + string(s.Status)
	details := map[string]any{"status": string(s.Status), "reason": s.Reason}
	if f := result.Error; f != nil {
		message = "subgraph " + d.flow.tree.Graph.Name.Value + ": " + f.Error()
		details["error"] = failureDetails(f)
		if f.Above > 0 { // a limit of the runs around this one
			own := *f
			own.Message, own.Above = message, f.Above-1
			return nil, &own
		}
	}
	return nil, &Failure{Kind: "child_failed", Message: message, Details: details}
}

// failureDetails is a failure as plain data.
func failureDetails(f *Failure) map[string]any {
	out := map[string]any{"kind": f.Kind, "message": f.Message}
	if f.Node != "" {
		out["node"], out["attempt"] = f.Node, f.Attempt
	}
	if f.Details != nil {
		out["details"] = f.Details
	}
	if f.Candidates != nil {
		out["candidates"], out["output_preview"] = plainJSON(f.Candidates), f.OutputPreview
	}
	return out
}

// childSink passes a subgraph's events on to the run around it, where they are
// numbered anew.
type childSink struct {
	pass   func(e *Event)
	nested *nesting
}

// passOn sends an event of a subgraph from the goroutine that it runs in.
func (d *driver) passOn(e *Event) { d.send(message{child: e}) }

// Event copies the event, since it is valid only now, and passes it on.
func (s childSink) Event(e *Event) error {
	switch e.Type {
	case RunStarted, RunFinished, RunPaused, RunResumed, RunWaiting:
		return nil
	}
	own := *e
	own.Output = machine.Plain(e.Output)
	own.Next, own.Nodes = slices.Clone(e.Next), slices.Clone(e.Nodes)
	own.Candidates, own.Delta = slices.Clone(e.Candidates), slices.Clone(e.Delta)
	if own.Place == "" { // else a deeper subgraph has said it
		own.Place = s.nested.among(lastNode(own.Node))
	}
	own.Node = s.nested.whole(own.Node)
	if e.Type == StateUpdated && own.Node == "" {
		own.Node = s.nested.node // whose state it is
	}
	for i, name := range own.Nodes {
		own.Nodes[i] = s.nested.whole(name)
	}
	for i, name := range own.Next {
		own.Next[i] = s.nested.whole(name)
	}
	s.pass(&own)
	return nil
}

// relay tells an event of a subgraph.
func (d *driver) relay(e *Event) {
	if d.watched {
		d.event = *e
		d.emit()
	} else {
		d.warn(e)
	}
}

// plainJSON is what a value says in JSON, as plain data.
func plainJSON(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var plain any
	if d.Decode(&plain) != nil {
		return nil
	}
	return plain
}
