// Replays that check: does the machine still decide as it did?

package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
)

// Verify walks a recorded run once more, executing nothing: through the graph
// that it was started with, or through another flow, which gets the recorded
// outputs and answers. It returns the first divergence, nil if there is none,
// and the result that the walk came to; with a divergence, up to there, and in it how
// the other flow goes on.
func (r *Runner) Verify(runID string, other *Flow) (*Result, *view.Divergence, error) {
	rec, err := r.loadAt(runID, 0)
	if err != nil {
		return nil, nil, err
	}
	result, d, err := rec.verify(other)
	if err == nil && d != nil && other != nil {
		if rec, err = r.load(runID); err == nil { // the whole: what came first may come last
			d.Onward, err = rec.goOnward(other)
		}
	}
	return result, d, err
}

// verify walks a record through its own flow and another one, if there is one.
func (rec *record) verify(other *Flow) (*Result, *view.Divergence, error) {
	then, err := rec.walker(rec.flow)
	if err != nil {
		return nil, nil, err
	}
	now := then
	if other != nil {
		if now, err = rec.walker(other); err != nil {
			return nil, nil, err
		}
		now.lenient = true
	}
	var began *machine.Event // the first event
	var d *view.Divergence
	var result *Result
	err = rec.Each(func(e *machine.Event) (bool, error) {
		if began == nil {
			began = e
		}
		if d != nil {
			return true, then.step(e) // what else the record ran
		}
		var err error
		if d, err = compareStep(then, now, e); err != nil || d == nil {
			return true, err
		}
		d.Why = append(refusedInput(began, other), d.Why...)
		result, err = now.driver.recorded()
		return true, err
	})
	if err != nil {
		return nil, nil, err
	}
	if d != nil {
		d.NeverRan = neverRan(then, now, d)
		return result, d, nil
	}
	result, err = now.driver.recorded()
	d = compareEnds(then, now)
	if problems := refusedInput(began, other); d == nil && len(problems) > 0 {
		// The walk did not need it, a run would.
		d = &view.Divergence{Recorded: []string{then.driver.plan.Start()}, Now: []string{"the input is refused"}, Why: problems}
	} else if d != nil {
		d.Why = append(problems, d.Why...)
	}
	return result, d, err
}

// neverRan are the nodes that a divergence leads to and the record, which then has
// walked, never ran.
func neverRan(then, now *walker, d *view.Divergence) []string {
	ran := map[string]bool{}
	for _, node := range then.driver.path {
		ran[then.driver.plan.NodeID(node)] = true
	}
	var out []string
	for _, name := range d.Now {
		if now.driver.flow.graph.Node(name) != nil && !ran[name] && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// walker walks a recorded run.
type walker struct {
	driver *driver
	// asked are the tasks that the machine wanted to run.
	asked map[machine.TaskID]bool
	// fresh are those of the last event, as text, sorted.
	fresh  []string
	routes []routed
	// ahead are the routes that the other walk has not come to.
	ahead []routed
	// due says that the machine wants its superstep closed.
	due bool
	// lenient says that the walk may execute itself what the record had run, and
	// takes what the record executed itself for what a task gave.
	lenient bool
	// inside are the walks through subgraphs, by the task that ran them.
	inside map[machine.TaskID]*insideWalk
}

// routed is where an execution led.
type routed struct {
	step int
	node string
	next []string
	// edges are those that fired, why the reasons of all.
	edges []int
	why   []string
}

func (rec *record) walker(flow *Flow) (*walker, error) {
	own := *rec
	own.readBy(flow)
	d, err := own.replayed(Options{}, nil)
	if err != nil {
		return nil, err
	}
	return newWalker(d), nil
}

func newWalker(d *driver) *walker {
	d.state.Watched, d.state.Explain = true, true
	w := &walker{driver: d, asked: map[machine.TaskID]bool{}, inside: map[machine.TaskID]*insideWalk{}}
	for _, id := range d.state.Running() { // the walk may begin at a snapshot
		w.asked[id] = true
	}
	return w
}

// step applies an event and keeps what the machine decided.
func (w *walker) step(event *machine.Event) error {
	d := w.driver
	w.fresh, w.routes = w.fresh[:0], w.routes[:0]
	if event.Kind == machine.RunBegan {
		d.learnStart(event)
	}
	d.last = max(d.last, event.At)
	commands, err := d.plan.Apply(d.state, *event)
	if err != nil {
		return err
	}
	d.path = append(d.path, d.state.Ran...)
	if event.Kind == machine.Advanced {
		w.due = false
	}
	for i := range commands {
		w.due = w.due || commands[i].Kind == machine.Advance
		if c := &commands[i]; c.Kind == machine.RunTask || c.Kind == machine.AskPerson {
			w.asked[c.Task] = true
			w.fresh = append(w.fresh, fmt.Sprintf("%s #%d", c.Task.Node, c.Task.Visit))
		}
	}
	slices.Sort(w.fresh)
	notes := d.state.Notes()
	for i := range notes {
		if n := &notes[i]; n.Kind == machine.NoteEdgesResolved {
			w.routes = append(w.routes, routed{int(n.Step), d.plan.NodeID(n.Node), d.targets(n), d.fired(n), d.reasons(n)})
		}
	}
	return nil
}

// fired are the edges that a note says fired; -1: a label of ends.
func (d *driver) fired(n *machine.Note) []int {
	taken := d.state.Taken(n)
	out := make([]int, len(taken))
	for i := range taken {
		out[i] = int(taken[i].Edge)
	}
	return out
}

// reasons says of every way out why it was taken or not.
func (d *driver) reasons(n *machine.Note) []string {
	var out []string
	for _, c := range d.state.AppendCandidates(nil, n) {
		out = append(out, fmt.Sprintf("%s: %s", c.To, d.mask.Text(c.Why)))
	}
	return out
}

// compareStep applies an event to both walks, which may be the same one.
func compareStep(then, now *walker, event *machine.Event) (*view.Divergence, error) {
	if err := then.step(event); err != nil {
		return nil, err
	}
	if now != then {
		if err := now.follow(then, event); err != nil {
			return nil, err
		}
		if d := compareRoutes(then, now); d != nil {
			return d, nil
		}
		if !now.lenient && !slices.Equal(then.fresh, now.fresh) {
			d := &view.Divergence{
				Recorded: slices.Clone(then.fresh), Now: slices.Clone(now.fresh), Why: []string{"other nodes are to run"},
			}
			addReasons(d, then, now, nodesOf(append(slices.Clone(then.fresh), now.fresh...))...)
			return d, nil
		}
	}
	if now.lenient && now.itself(event.Task.Node) {
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
func (w *walker) led(event *machine.Event) bool { return w.asked[event.Task] }

// compareRoutes finds the first execution that leads elsewhere now.
func compareRoutes(then, now *walker) *view.Divergence {
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
	if len(then.ahead) == len(now.ahead) || now.lenient && !now.driver.state.Ended() {
		return nil
	}
	return leftover(then, now)
}

// leftover is the divergence of walks of which one goes on and the other does not.
func leftover(then, now *walker) *view.Divergence {
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
	if f := now.driver.state.Failure; now.driver.state.Ended() {
		d.Why = nil // the reasons have it
	} else if f != nil {
		d.Why = []string{now.driver.mask.Text(f.Error())}
	}
	addReasons(d, then, now, d.Node)
	return d
}

// compareEnds compares how both walks stand at the end of the journal.
func compareEnds(then, now *walker) *view.Divergence {
	stand := func(w *walker) []string {
		s := w.driver.state
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
