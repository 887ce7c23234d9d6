// Verification of recorded runs: a replay finds and explains the first step that takes another path.

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
	// allowsKindChange allows that the machine computes a node in one version, and a task runs it in
	// the other.
	allowsKindChange bool
	// tasks maps steps to task numbers, steps the reverse. The numbers differ between versions.
	tasks map[string]int
	steps map[int]string
	// routes are those of the last event, unmatched those that the other walker has not taken.
	routes, unmatched []route
	ran               map[string]bool // paths of nodes that ran
}

// route is a finished step and the nodes that follow it.
type route struct {
	number int
	node   string // path
	step   string
	next   []string
	edges  []int // edges that fired; -1 means a label of `ends`
	why    []string
}

// newWalker returns a walker at the beginning of the record.
func (rec *record) newWalker(flow *Flow) (*walker, error) {
	own := *rec
	own.flow = flow
	d, err := own.newDriver(Options{readsOnly: true})
	if err != nil {
		return nil, err
	}
	d.state.Watched, d.state.Explain = true, true
	return &walker{driver: d, tasks: map[string]int{}, steps: map[int]string{}, ran: map[string]bool{}}, nil
}

// Verify replays a recorded run in its own graph or in another flow, and executes nothing. The other
// flow gets the recorded outputs and answers. Verify returns the first divergence, or nil, and the
// result up to there.
func (r *Runner) Verify(runID string, other *Flow) (*Result, *view.Divergence, error) {
	rec, err := r.loadRecord(runID)
	if err != nil {
		return nil, nil, err
	}
	c, err := rec.compareWith(other, other != nil)
	if err != nil {
		return nil, nil, err
	}
	d, result := c.divergence, c.result
	if d != nil {
		d.NeverRan = nodesNeverRun(c.then, c.now, d)
	} else {
		d, result = compareEnds(c.then, c.now), c.now.recordedResult()
	}
	if other == nil {
		return result, d, nil
	}
	problems := checkInput(c.began, other.tree.Graph)
	if d == nil && len(problems) > 0 { // unlike a run, a replay does not check the input
		d = &view.Divergence{Recorded: []string{c.then.plan.Start()}, Now: []string{"the input is refused"}}
	}
	if d != nil {
		d.Why = append(problems, d.Why...)
	}
	return result, d, nil
}

// comparison is a record that was replayed in two flows.
type comparison struct {
	then, now  *walker        // the same walker if there is no other flow
	began      *machine.Event // the first event
	divergence *view.Divergence
	result     *Result // of now, at the divergence
	after      int     // number of events after the divergence
}

// compareWith replays the record in its own flow and in the other flow, if any, until they diverge. Its
// own flow continues to the end.
func (rec *record) compareWith(other *Flow, allowsKindChange bool) (*comparison, error) {
	then, err := rec.newWalker(rec.flow)
	c := &comparison{then: then, now: then}
	if err == nil && other != nil {
		if c.now, err = rec.newWalker(other); err == nil {
			c.now.allowsKindChange = allowsKindChange
		}
	}
	if err != nil {
		return nil, err
	}
	err = rec.visitEvents(func(e *machine.Event) (more bool, err error) {
		if c.began == nil {
			c.began = e
		}
		if c.divergence != nil {
			c.after++
			return true, c.then.applyEvent(e)
		}
		if c.divergence, err = advanceBoth(c.then, c.now, e); c.divergence != nil {
			c.result = c.now.recordedResult()
		}
		return true, err
	})
	return c, err
}

// stepName identifies a step in all versions of a graph.
func stepName(p *machine.Place) string {
	return fmt.Sprintf("%s\x00%s\x00%d\x00%v", p.Scope, p.Node, p.Visit, p.Order)
}

// applyEvent replays an event and stores the routes that it causes.
func (w *walker) applyEvent(event *machine.Event) error {
	w.routes = nil
	if err := w.replayEvent(event); err != nil {
		return err
	}
	notes := w.state.Notes()
	for i := range notes {
		n := &notes[i]
		switch n.Kind {
		case machine.NoteNodeStarted:
			w.tasks[stepName(&n.Place)], w.steps[n.Task.Task] = n.Task.Task, stepName(&n.Place)
			w.ran[n.Path()] = true
		case machine.NoteEdgesResolved:
			w.routes = append(w.routes, w.newRoute(n))
		}
	}
	return nil
}

func (w *walker) newRoute(n *machine.Note) route {
	out := route{number: n.Step, node: n.Path(), step: stepName(&n.Place), next: append([]string{}, n.Targets...)}
	for _, c := range n.Candidates {
		if c.Fired {
			out.edges = append(out.edges, c.Edge)
		}
		out.why = append(out.why, fmt.Sprintf("%s: %s", c.To, w.mask.MaskText(c.Why)))
	}
	return out
}

// advanceBoth replays an event in both walkers and returns the first divergence, or nil.
func advanceBoth(then, now *walker, event *machine.Event) (*view.Divergence, error) {
	if err := then.applyEvent(event); err != nil {
		return nil, err
	}
	if now == then {
		return nil, nil
	}
	own := *event
	if step, known := then.steps[event.Task.Task]; known {
		task, runs := now.tasks[step]
		if !runs && event.Kind == machine.TaskEnded && !now.allowsKindChange {
			return unreachedStep(then, now, step), nil
		}
		own.Task.Task = task
	}
	if err := now.applyEvent(&own); err != nil {
		return nil, err
	}
	if now.allowsKindChange {
		if err := now.endComputedSteps(then, event); err != nil {
			return nil, err
		}
	}
	return compareRoutes(then, now), nil
}

// endComputedSteps ends tasks whose steps the recorded machine computed, with the recorded results.
func (w *walker) endComputedSteps(then *walker, event *machine.Event) error {
	routes := w.routes
	for _, n := range slices.Clone(then.state.Notes()) {
		if n.Kind != machine.NoteNodeCompleted && n.Kind != machine.NoteNodeFailed || !isComputed(n.NodeKind) {
			continue
		}
		id := machine.TaskID{Task: w.tasks[stepName(&n.Place)], Attempt: 1}
		if !slices.Contains(w.state.Attempts(), id) {
			continue
		}
		if err := w.applyEvent(&machine.Event{Kind: machine.TaskEnded, Task: id, At: event.At, Output: n.Output, Failure: n.Failure}); err != nil {
			return err
		}
		routes = append(routes, w.routes...)
	}
	w.routes = routes
	return nil
}

// isComputed reports whether the machine executes nodes of a kind without a handler.
func isComputed(kind string) bool {
	return slices.Contains([]string{"fail", "pass", "set", "wait"}, kind)
}

// unreachedStep returns the divergence of a walker that does not reach a recorded step.
func unreachedStep(then, now *walker, step string) *view.Divergence {
	parts := strings.Split(step, "\x00")
	node := strings.TrimPrefix(parts[0]+"/"+parts[1], "/")
	d := &view.Divergence{
		Node: node, Recorded: []string{node + " #" + parts[2]}, Now: now.describePending(),
		Why: []string{"the journal has an execution that nothing led to"},
	}
	addReasons(d, then, now, node)
	return d
}

// compareRoutes returns the first step that now takes another path, or nil. Branches may end in any
// order.
func compareRoutes(then, now *walker) *view.Divergence {
	then.unmatched, now.unmatched = append(then.unmatched, then.routes...), append(now.unmatched, now.routes...)
	for i := 0; i < len(then.unmatched); {
		was := &then.unmatched[i]
		at := slices.IndexFunc(now.unmatched, func(r route) bool { return r.step == was.step })
		if at < 0 {
			i++
			continue
		}
		is := &now.unmatched[at]
		if !slices.Equal(was.next, is.next) {
			d := &view.Divergence{
				Step: was.number, Node: is.node, Recorded: was.next, Now: is.next, RecordedEdges: was.edges, NowEdges: is.edges,
				Why: is.why, RecordedWhy: was.why,
			}
			addReasons(d, then, now, was.node)
			return d
		}
		then.unmatched, now.unmatched = slices.Delete(then.unmatched, i, i+1), slices.Delete(now.unmatched, at, at+1)
	}
	if now.allowsKindChange && !now.state.HasEnded() {
		return nil
	}
	return unmatchedRoute(then, now)
}

// unmatchedRoute returns the divergence where only one walker continues, or nil.
func unmatchedRoute(then, now *walker) *view.Divergence {
	if len(then.unmatched) == 0 && len(now.unmatched) == 0 {
		return nil
	}
	d := &view.Divergence{Recorded: []string{}, Now: []string{}, Why: []string{"one of the walks goes on, the other does not"}}
	longer, targets := then.unmatched, &d.Recorded
	if len(longer) == 0 {
		longer, targets = now.unmatched, &d.Now
	} else {
		d.Now = now.describePending()
	}
	d.Step, d.Node, *targets = longer[0].number, longer[0].node, longer[0].next
	if f := now.state.Failure; now.state.HasEnded() {
		d.Why = nil // addReasons says why
	} else if f != nil {
		d.Why = []string{now.mask.MaskText(f.Error())}
	}
	addReasons(d, then, now, d.Node)
	return d
}

// compareEnds returns the divergence at the end of the journal, or nil.
func compareEnds(then, now *walker) *view.Divergence {
	if now != then {
		if d := unmatchedRoute(then, now); d != nil {
			return d
		}
	}
	was, is := then.describeStatus(), now.describeStatus()
	if slices.Equal(was, is) {
		return nil
	}
	d := &view.Divergence{Recorded: was, Now: is, Why: []string{"the run ends otherwise"}}
	addReasons(d, then, now)
	return d
}

// nodesNeverRun returns the nodes after a divergence that the recorded run never executed.
func nodesNeverRun(then, now *walker, d *view.Divergence) []string {
	var out []string
	for _, name := range d.Now {
		if now.plan.Graph.Node(name) != nil && !then.ran[name] && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// checkInput returns the problems of the run's input in another version of its graph.
func checkInput(began *machine.Event, other *spec.Graph) []string {
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

// addReasons adds the differences of graphs and run states to a divergence.
func addReasons(d *view.Divergence, then, now *walker, nodes ...string) {
	var out []string
	if began, begins := then.plan.Start(), now.plan.Start(); began != begins {
		out = append(out, fmt.Sprintf("the start is %q now (%s), it was %q", begins, now.formatPosition(now.plan.Graph.Start.Span), began))
		if len(d.Now) == 0 {
			d.Now = []string{begins}
		}
	}
	if s := now.state; s.HasEnded() && !then.state.HasEnded() {
		out = append(out, now.describeEnd())
		if len(d.Now) == 0 {
			d.Now = now.describeStatus()
		}
	}
	for _, node := range nodes {
		if text := describeChange(then, now, node); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	d.Why = append(out, d.Why...)
}

func (w *walker) describeEnd() string {
	s := w.state
	text := "the run ends here: " + strings.TrimSuffix(string(s.Status)+", "+s.Reason, ", ")
	if s.Failure != nil {
		text += ": " + w.mask.MaskText(s.Failure.Message)
	}
	return text
}

// describeChange describes how the definition of a node changed, or returns "".
func describeChange(then, now *walker, node string) string {
	was, is := then.plan.Graph.Node(node), now.plan.Graph.Node(node)
	switch {
	case was == nil:
		return ""
	case is == nil:
		return fmt.Sprintf("there is no node %q any more", node)
	case was.Kind.Value != is.Kind.Value:
		return fmt.Sprintf("node %q is of kind %s now (%s), it was of kind %s", node, is.Kind.Value, now.formatPosition(is.Kind.Span), was.Kind.Value)
	case then.normalizeSource(was.Span) != now.normalizeSource(is.Span):
		return fmt.Sprintf("the definition of node %q differs (%s)", node, now.formatPosition(is.Span))
	}
	return ""
}

func (w *walker) formatPosition(span spec.Span) string {
	file := w.plan.Graph.File
	at := file.Position(span.From)
	return fmt.Sprintf("%s:%d:%d", file.Name, at.Line, at.Column)
}

func (w *walker) normalizeSource(span spec.Span) string {
	src := w.plan.Graph.File.Src
	return strings.Join(strings.Fields(string(src[span.From:min(span.To, len(src))])), " ")
}

func (w *walker) describeStatus() []string {
	return []string{strings.TrimSuffix(string(w.state.Status)+" "+w.state.Reason, " ")}
}

// describePending returns the current executions, or the status of a run that has ended.
func (w *walker) describePending() []string {
	if w.state.HasEnded() {
		return w.describeStatus()
	}
	out := []string{}
	for _, t := range w.state.Current() {
		out = append(out, fmt.Sprintf("%s #%d", t.Path(), t.Visit))
	}
	return out
}
