// Replays that check: does the machine still decide as it did? Where another version of the
// graph leads elsewhere, and why.

package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// walker replays a recorded run in one version of its graph.
type walker struct {
	*driver
	// lenient says that the walk may execute itself what the record had run, and takes
	// what the record executed itself for what a task gave.
	lenient bool
	// tasks and placed name the tasks that began: in two versions of a graph the same step
	// has the same place and another number.
	tasks  map[string]int
	placed map[int]string
	// routes are where the last event led, ahead those that the other walk has not reached.
	routes, ahead []routed
	ran           map[string]bool
}

// routed is where a step led.
type routed struct {
	step  int
	node  string // path
	place string
	next  []string
	edges []int // that fired; -1: a label of ends
	why   []string
}

// walker returns a walk of the record in a flow that has taken no event yet.
func (rec *record) walker(flow *Flow) (*walker, error) {
	own := *rec
	own.flow = flow
	d, err := own.restore(Options{looks: true})
	if err != nil {
		return nil, err
	}
	d.state.Watched, d.state.Explain = true, true
	return &walker{driver: d, tasks: map[string]int{}, placed: map[int]string{}, ran: map[string]bool{}}, nil
}

// Verify replays a recorded run and executes nothing: in the graph with which it was started,
// or in another flow, which gets the recorded outputs and answers. It returns the first
// divergence, or nil, and the result up to there.
func (r *Runner) Verify(runID string, other *Flow) (*Result, *view.Divergence, error) {
	rec, err := r.find(runID)
	if err != nil {
		return nil, nil, err
	}
	c, err := rec.compare(other, other != nil)
	if err != nil {
		return nil, nil, err
	}
	d, result := c.divergence, c.result
	if d != nil {
		d.NeverRan = neverRan(c.then, c.now, d)
	} else {
		d, result = compareEnds(c.then, c.now), c.now.recordedResult()
	}
	if other == nil {
		return result, d, nil
	}
	problems := refusedInput(c.began, other.tree.Graph)
	if d == nil && len(problems) > 0 { // the walk did not need the input, a run would
		d = &view.Divergence{Recorded: []string{c.then.plan.Start()}, Now: []string{"the input is refused"}}
	}
	if d != nil {
		d.Why = append(problems, d.Why...)
	}
	return result, d, nil
}

// comparison is a record that was walked in two flows.
type comparison struct {
	then, now  *walker
	began      *machine.Event // the first event
	divergence *view.Divergence
	result     *Result // of now, at the divergence
	after      int     // events after the divergence
}

// compare walks the record in its own flow and in another one, which may be nil, up to the first
// divergence. After it, only its own flow walks on.
func (rec *record) compare(other *Flow, lenient bool) (*comparison, error) {
	then, err := rec.walker(rec.flow)
	c := &comparison{then: then, now: then}
	if err == nil && other != nil {
		if c.now, err = rec.walker(other); err == nil {
			c.now.lenient = lenient
		}
	}
	if err != nil {
		return nil, err
	}
	err = rec.each(func(e *machine.Event) (more bool, err error) {
		if c.began == nil {
			c.began = e
		}
		if c.divergence != nil {
			c.after++
			return true, c.then.step(e)
		}
		if c.divergence, err = compareWalks(c.then, c.now, e); c.divergence != nil {
			c.result = c.now.recordedResult()
		}
		return true, err
	})
	return c, err
}

// placeOf names a step, whatever its number is.
func placeOf(p *machine.Place) string {
	return fmt.Sprintf("%s\x00%s\x00%d\x00%v", p.Scope, p.Node, p.Visit, p.Order)
}

// step applies an event and keeps what the machine decided.
func (w *walker) step(event *machine.Event) error {
	w.routes = nil
	if err := w.replay(event); err != nil {
		return err
	}
	notes := w.state.Notes()
	for i := range notes {
		n := &notes[i]
		switch n.Kind {
		case machine.NoteNodeStarted:
			w.tasks[placeOf(&n.Place)], w.placed[n.Task.Task] = n.Task.Task, placeOf(&n.Place)
			w.ran[n.Path()] = true
		case machine.NoteEdgesResolved:
			w.routes = append(w.routes, w.routed(n))
		}
	}
	return nil
}

func (w *walker) routed(n *machine.Note) routed {
	out := routed{step: n.Step, node: n.Path(), place: placeOf(&n.Place), next: append([]string{}, n.Targets...)}
	for _, c := range n.Candidates {
		if c.Fired {
			out.edges = append(out.edges, c.Edge)
		}
		out.why = append(out.why, fmt.Sprintf("%s: %s", c.To, w.mask.Text(c.Why)))
	}
	return out
}

// compareWalks applies an event to both walks, which may be the same one, and returns where
// they part; nil: they do not.
func compareWalks(then, now *walker, event *machine.Event) (*view.Divergence, error) {
	if err := then.step(event); err != nil {
		return nil, err
	}
	if now == then {
		return nil, nil
	}
	own := *event
	if place, known := then.placed[event.Task.Task]; known {
		task, runs := now.tasks[place]
		if !runs && event.Kind == machine.TaskEnded && !now.lenient {
			return nowhere(then, now, place), nil
		}
		own.Task.Task = task
	}
	if err := now.step(&own); err != nil {
		return nil, err
	}
	if now.lenient {
		if err := now.give(then, event); err != nil {
			return nil, err
		}
	}
	return compareRoutes(then, now), nil
}

// give ends the tasks of a walk that the record has executed itself, with what they gave.
func (w *walker) give(then *walker, event *machine.Event) error {
	routes := w.routes
	for _, n := range slices.Clone(then.state.Notes()) {
		if n.Kind != machine.NoteNodeCompleted && n.Kind != machine.NoteNodeFailed || !itself(n.NodeKind) {
			continue
		}
		id := machine.TaskID{Task: w.tasks[placeOf(&n.Place)], Attempt: 1}
		if !slices.Contains(w.state.Attempts(), id) {
			continue
		}
		if err := w.step(&machine.Event{Kind: machine.TaskEnded, Task: id, At: event.At, Output: n.Output, Failure: n.Failure}); err != nil {
			return err
		}
		routes = append(routes, w.routes...)
	}
	w.routes = routes
	return nil
}

// itself reports whether the machine executes a kind of node itself.
func itself(kind string) bool { return slices.Contains([]string{"fail", "pass", "set", "wait"}, kind) }

// nowhere returns the divergence of a walk that does not reach a step of the record.
func nowhere(then, now *walker, place string) *view.Divergence {
	parts := strings.Split(place, "\x00")
	node := strings.TrimPrefix(parts[0]+"/"+parts[1], "/")
	d := &view.Divergence{
		Node: node, Recorded: []string{node + " #" + parts[2]}, Now: now.wants(),
		Why: []string{"the journal has an execution that nothing led to"},
	}
	addReasons(d, then, now, node)
	return d
}

// compareRoutes finds the first step that leads elsewhere now. A step is compared with the
// one at its place: branches may end in another order.
func compareRoutes(then, now *walker) *view.Divergence {
	then.ahead, now.ahead = append(then.ahead, then.routes...), append(now.ahead, now.routes...)
	for i := 0; i < len(then.ahead); {
		was := &then.ahead[i]
		at := slices.IndexFunc(now.ahead, func(r routed) bool { return r.place == was.place })
		if at < 0 {
			i++
			continue
		}
		is := &now.ahead[at]
		if !slices.Equal(was.next, is.next) {
			d := &view.Divergence{
				Step: was.step, Node: is.node, Recorded: was.next, Now: is.next, RecordedEdges: was.edges, NowEdges: is.edges,
				Why: is.why, RecordedWhy: was.why,
			}
			addReasons(d, then, now, was.node)
			return d
		}
		then.ahead, now.ahead = slices.Delete(then.ahead, i, i+1), slices.Delete(now.ahead, at, at+1)
	}
	if now.lenient && !now.state.Ended() {
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
	if f := now.state.Failure; now.state.Ended() {
		d.Why = nil // the reasons have it
	} else if f != nil {
		d.Why = []string{now.mask.Text(f.Error())}
	}
	addReasons(d, then, now, d.Node)
	return d
}

// compareEnds compares how both walks stand at the end of the journal.
func compareEnds(then, now *walker) *view.Divergence {
	stand := func(w *walker) []string {
		return []string{strings.TrimSuffix(string(w.state.Status)+" "+w.state.Reason, " ")}
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

// neverRan returns the nodes that a divergence leads to and the record, which then has
// walked, never ran.
func neverRan(then, now *walker, d *view.Divergence) []string {
	var out []string
	for _, name := range d.Now {
		if now.plan.Graph.Node(name) != nil && !then.ran[name] && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// refusedInput says which inputs another version of a graph needs that the run did not
// have, or which do not fit it.
func refusedInput(began *machine.Event, other *spec.Graph) []string {
	if began == nil || began.Kind != machine.RunBegan {
		return nil
	}
	has := map[string]any{}
	if began.Run != nil && began.Run.Session != nil {
		has = began.Run.Session
	}
	_, wrong := input.Check(other, began.Input, has)
	return wrong
}

// addReasons names what about the graphs, or how the walk stands, makes it lead elsewhere
// at a node.
func addReasons(d *view.Divergence, then, now *walker, nodes ...string) {
	var out []string
	if began, begins := then.plan.Start(), now.plan.Start(); began != begins {
		out = append(out, fmt.Sprintf("the start is %q now (%s), it was %q", begins, now.at(now.plan.Graph.Start.Span), began))
		if len(d.Now) == 0 {
			d.Now = []string{begins}
		}
	}
	if s := now.state; s.Ended() && !then.state.Ended() {
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

// endedBy describes why the walk ended, as a sentence.
func (w *walker) endedBy() string {
	s := w.state
	text := "the run ends here: " + strings.TrimSuffix(string(s.Status)+", "+s.Reason, ", ")
	if s.Failure != nil {
		text += ": " + w.mask.Text(s.Failure.Message)
	}
	return text
}

// differs says how the definition of a node differs; "" when it does not.
func differs(then, now *walker, node string) string {
	was, is := then.plan.Graph.Node(node), now.plan.Graph.Node(node)
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
	file := w.plan.Graph.File
	at := file.Position(span.From)
	return fmt.Sprintf("%s:%d:%d", file.Name, at.Line, at.Column)
}

func (w *walker) text(span spec.Span) string {
	src := w.plan.Graph.File.Src
	return strings.Join(strings.Fields(string(src[span.From:min(span.To, len(src))])), " ")
}

// wants are the executions that a walk waits for, or how it has ended.
func (w *walker) wants() []string {
	s := w.state
	if s.Ended() {
		return []string{strings.TrimSuffix(string(s.Status)+" "+s.Reason, " ")}
	}
	out := []string{}
	for _, t := range s.Current() {
		out = append(out, fmt.Sprintf("%s #%d", t.Path(), t.Visit))
	}
	return out
}
