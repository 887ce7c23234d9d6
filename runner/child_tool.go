// Graphs that tasks run as tools.

package runner

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/internal/answers"
	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/machine"
)

// toolGraphs runs the graphs that one task calls. Its Run is called from the
// goroutines of the task.
type toolGraphs struct {
	driver *driver
	id     machine.TaskID
	work   *machine.Work
	hidden []string
	models machine.ModelSettings
	box    chan insideCall // what the run wants of its graphs

	mu                     sync.Mutex
	calls                  map[string]chan insideCall // of those that run, by their part of the task
	running, waiting       int                        // calls side by side, and those of them that wait for people
	end                    *machine.ChildEnd          // what the graphs came to, added up; nil: none has run
	stateBytes, bytesAbove int                        // see nesting
}

// toolGraphs prepares what a task needs to call graphs; nil when the graph
// declares none as a tool.
func (d *driver) toolGraphs(id machine.TaskID, work *machine.Work) *toolGraphs {
	if !d.flow.tree.HasTools() {
		return nil
	}
	box := make(chan insideCall, 64)
	d.inside[id] = box
	return &toolGraphs{box: box, driver: d, id: id, work: work, hidden: slices.Clone(d.mask.Values), models: d.state.Models(), stateBytes: d.state.MaxStateBytes(), bytesAbove: d.state.StateBytesAbove() + 1}
}

// run runs a graph and returns its output. A graph that waits for people makes
// its task wait.
func (g *toolGraphs) run(ctx context.Context, task *Task, call handler.GraphCall) (any, error) {
	d := g.driver
	tree := d.flow.tree.Tool(lastNode(task.Node), call.File)
	if tree == nil {
		return nil, &Failure{Kind: "internal", Message: "graph " + strconv.Quote(call.File) + " is no tool of the file"}
	}
	s, err := d.newSubrun(d.flow.of(tree), g.models, &nesting{
		parent: d, task: g.id, node: task.Node, prefix: d.nested.prefixOf(lastNode(task.Node), task.Index),
		place: task.Place + "#" + strconv.Itoa(call.Number+1), elements: task.Elements, key: call.Key,
		left: g.work.StepsLeft, shares: g.work.SharesSteps, hidden: g.hidden, call: call.Number + 1, calls: g, file: call.File, around: task.modelScopes(),
		stateBytes: g.stateBytes, bytesAbove: g.bytesAbove,
	})
	if err != nil {
		return nil, err
	}
	s.counted = g.work.StepsCounted // of all calls of the task
	s.calls = g.reach(partOf(call.Number))
	defer g.leave(partOf(call.Number))
	defer s.nested.goesOn()
	child, result, err := s.run(ctx, task.calling(&call))
	if err != nil {
		return nil, err
	}
	child.mask.Learn(child.state.Values())
	d.hideAs(child.mask)
	return g.outcome(child, result)
}

// reach is where the graph of a call finds what the run around it wants.
func (g *toolGraphs) reach(part string) <-chan insideCall {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls == nil {
		g.calls = map[string]chan insideCall{}
	}
	box := make(chan insideCall, cap(g.box))
	g.calls[part] = box
	return box
}

func (g *toolGraphs) leave(part string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.calls[part]) > 0 {
		select {
		case <-g.calls[part]:
			g.driver.pace.Release()
		default:
		}
	}
	delete(g.calls, part)
}

// passCalls gives what the run wants to the graphs of the calls that it is for, until
// the task has ended. An answer for one that does not run is found when it asks again.
func (g *toolGraphs) passCalls(ctx context.Context) {
	for {
		select {
		case call := <-g.box:
			g.pass(call)
		case <-ctx.Done():
			return
		}
	}
}

func (g *toolGraphs) pass(call insideCall) {
	g.mu.Lock()
	defer g.mu.Unlock()
	part, question, _ := strings.Cut(call.question, ":")
	call.question = question
	select {
	case g.calls[part] <- call:
	default:
		g.driver.pace.Release()
	}
}

// beside is Task.Beside.
func (g *toolGraphs) beside(change int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running += change
	g.wake()
}

// wake tells those that wait when nothing beside them runs any more.
func (g *toolGraphs) wake() {
	if g.waiting == 0 || g.waiting < g.running {
		return
	}
	for _, box := range g.calls { //lint:ignore mapiter each is told the same
		g.driver.pace.Hold() // until it is passed on
		select {
		case box <- insideCall{look: true}:
		default:
			g.driver.pace.Release()
		}
	}
}

// stays reports whether a graph that has nothing to do but to wait for people waits
// here: another call of its task still runs.
func (n *nesting) stays() bool {
	if n == nil || n.calls == nil {
		return false
	}
	n.calls.mu.Lock()
	defer n.calls.mu.Unlock()
	if !n.waits {
		n.waits = true
		n.calls.waiting++
		n.calls.wake()
	}
	return n.calls.waiting < n.calls.running
}

// goesOn says that a graph does not wait any more.
func (n *nesting) goesOn() {
	if n == nil || !n.waits {
		return
	}
	n.calls.mu.Lock()
	defer n.calls.mu.Unlock()
	n.waits = false
	n.calls.waiting--
}

// errNoStepLeft ends a task whose graph found no step left: the run is over.
var errNoStepLeft = errors.New("the run has no step left")

// outcome is the result of a call.
func (g *toolGraphs) outcome(child *driver, result *Result) (any, error) {
	if parked := child.parking(); parked != nil {
		if child.journal == nil {
			return nil, &Failure{Kind: "child_failed", Message: "the graph asks a person, which needs a store"}
		}
		return nil, parked
	}
	var end machine.ChildEnd
	output, err := child.outcome(result, &end)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end == nil {
		g.end = &machine.ChildEnd{}
	}
	g.end.Steps += end.Steps
	g.end.Degraded = g.end.Degraded || end.Degraded
	if end.OutOfSteps {
		g.end.OutOfSteps, g.end.Above = true, end.Above
		return nil, errNoStepLeft
	}
	if err != nil {
		return nil, err
	}
	fields, _ := output.(map[string]any)
	return fields["output"], nil
}

// ended is what the graphs of a task came to; nil when it ran none.
func (g *toolGraphs) ended() *machine.ChildEnd {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.end
}

// calling is the task as the called graph's own: its input, and of its log and answers
// what belongs to the call.
func (t *Task) calling(c *handler.GraphCall) *Task {
	own := t.Part(partOf(c.Number))
	own.Config, own.Log = map[string]any{"with": c.With}, nil
	for _, entry := range t.Log {
		if number, _, events := journal.ReadCall(entry); number == c.Number+1 {
			own.Log = append(own.Log, events)
		}
	}
	return own
}

// partOf is the name of a call as a part of its task.
func partOf(number int) string { return "tool" + strconv.Itoa(number) }

// askID is the ID that a question of a subgraph has in the run around it.
func (n *nesting) askID(q *machine.Question) string {
	if n.call == 0 {
		return answers.IDOf(q)
	}
	return partOf(n.call-1) + ":" + answers.IDOf(q)
}

// lastNode is the node's own id in its path.
func lastNode(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
