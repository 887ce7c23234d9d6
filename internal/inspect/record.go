// The record of a run: its events, decisions and output, whole or in pieces, and its trail for
// drawings.

package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

// Run is a run with everything that is recorded about it.
type Run struct {
	Result *runner.Result `json:"result"`
	// State is the initial state.
	State map[string]any `json:"state"`
	Piece
}

// Piece is a part of the record of a run. A page starts with a Run without records and then
// receives the pieces.
type Piece struct {
	Events    []json.RawMessage `json:"events"`
	Decisions []Decision        `json:"decisions"`
	Said      []Said            `json:"said"`
	// Conversation holds the messages of nodes and models.
	Conversation []view.Spoken `json:"conversation"`
	// SaidCut is how many bytes are missing at the start of Said.
	SaidCut int `json:"said_cut"`
	// Last is the number of the last event. Only the last piece has it.
	Last int64 `json:"last_event,omitempty"`
}

func newPiece() Piece {
	return Piece{Events: []json.RawMessage{}, Decisions: []Decision{}, Said: []Said{}, Conversation: []view.Spoken{}}
}

// Said is output of a program or a model.
type Said struct {
	Node string `json:"node"`
	// Place is Node with the indexes of all elements: s[1]/write[0].
	Place   string `json:"place"`
	Visit   int    `json:"visit"`
	Attempt int    `json:"attempt"`
	Source  string `json:"source,omitempty"`
	Stream  string `json:"stream"`
	Text    string `json:"text"`
}

// NewSaid converts a log chunk.
func NewSaid(c *store.LogChunk) Said {
	return Said{c.Node, c.Place, c.Visit, c.Attempt, c.Source, c.Stream, c.Text}
}

const (
	pieceEvents = 500       // events in a piece
	mostSaid    = 512 << 10 // bytes of output in a page
)

// recorder collects the record of a run.
type recorder struct {
	Piece
	decided *decisions
	trail   *trailBuilder
	send    func(*Piece) error // sends full pieces; nil keeps all events
}

func recordRun(r *runner.Runner, id string, send func(*Piece) error) (*recorder, *runner.Result, error) {
	c := &recorder{newPiece(), newDecisions(0, send != nil), &trailBuilder{render.NewTrail(), map[string]visitEnd{}, map[string]int{}}, send}
	result, err := r.Show(id, runner.Options{Sink: c, History: true})
	c.Decisions = c.decided.list
	return c, result, err
}

// Event adds an event and sends a full piece.
func (c *recorder) Event(e *runner.Event) error {
	if c.send != nil && len(c.Events) == pieceEvents {
		if err := c.send(&Piece{Events: c.Events}); err != nil {
			return err
		}
		c.Events = c.Events[:0]
	}
	c.Events, c.Last = append(c.Events, marshalBrief(e)), e.Seq
	c.trail.addEvent(e)
	return c.decided.Event(e)
}

func (c *recorder) Spoken(s *view.Spoken) error {
	c.Conversation = append(c.Conversation, *s)
	return nil
}

// marshalBrief encodes an event without the parts that the rest of the record holds.
func marshalBrief(e *runner.Event) json.RawMessage {
	brief := *e
	switch e.Type {
	case runner.RunFinished, runner.RunPaused:
		brief.Result = nil
	case runner.EdgesResolved: // decisions and node_completed have them
		brief.Candidates, brief.Output = nil, nil
	}
	return brief.AppendJSON(nil)
}

// ReplayedRun is a replayed run with its trail.
type ReplayedRun struct {
	Record store.RunRecord
	Result *runner.Result
	Trail  *render.Trail
	Piece  // of the whole run, without Said

	runner *runner.Runner
}

// ReplayRun replays a run and returns what it recorded.
func ReplayRun(r *runner.Runner, record *store.RunRecord) (*ReplayedRun, error) {
	c, result, err := recordRun(r, record.ID, nil)
	if err != nil {
		return nil, err
	}
	c.trail.addResult(result)
	return &ReplayedRun{*record, result, c.trail.trail, c.Piece, r}, nil
}

// Page returns the data of the run for the page.
func (p *ReplayedRun) Page(ctx context.Context) (*Run, error) {
	out, err := newRun(p.runner, p.Result)
	if err != nil {
		return nil, err
	}
	out.Piece, out.Last = p.Piece, 0
	out.Said, out.SaidCut, err = readSaid(ctx, p.runner, p.Record.ID)
	return out, err
}

func newRun(r *runner.Runner, result *runner.Result) (*Run, error) {
	first, err := r.ShowAt(result.RunID, 0, runner.Options{})
	if err != nil {
		return nil, err
	}
	return &Run{result, first.State, newPiece()}, nil
}

// ReadHead returns the current result of a run. SendRecord sends the rest of its record.
func ReadHead(r *runner.Runner, id string) (*Run, error) {
	result, err := r.Show(id, runner.Options{})
	if err != nil {
		return nil, err
	}
	return newRun(r, result)
}

// SendRecord sends the record of a run in pieces: the events in order, the rest in the last piece.
// Decisions lack the parts of conditions, which ListDecisions returns.
func SendRecord(ctx context.Context, r *runner.Runner, id string, send func(*Piece) error) error {
	c, _, err := recordRun(r, id, send)
	if err != nil {
		return err
	}
	if c.Said, c.SaidCut, err = readSaid(ctx, r, id); err != nil {
		return err
	}
	return send(&c.Piece)
}

// ReadConversation returns the messages that nodes added, in order, including subgraphs. node, a
// path, selects one node unless it is empty.
func ReadConversation(r *runner.Runner, id, node string) ([]view.Spoken, error) {
	c, _, err := recordRun(r, id, nil)
	return slices.DeleteFunc(c.Conversation, func(s view.Spoken) bool { return node != "" && s.Node != node }), err
}

// readSaid returns the latest output of a run and how many bytes before it are left out.
func readSaid(ctx context.Context, r *runner.Runner, id string) (said []Said, cut int, err error) {
	said, size := []Said{}, 0
	err = r.Logs(ctx, id, false, func(c *store.LogChunk) error {
		if c.Text != "" {
			size += len(c.Text)
			said = append(said, NewSaid(c))
		}
		return nil
	})
	from := 0
	for ; size-cut > mostSaid && from < len(said); from++ {
		cut += len(said[from].Text)
	}
	return said[from:], cut, err
}

// Decision is a step with the edges that it could have taken.
type Decision struct {
	Step int    `json:"step"`
	Node string `json:"node"`
	// Place is Node with the indexes of enclosing elements, as in s[1]/write, if any. Shown
	// holds the names of Next in that form.
	Place string   `json:"place,omitempty"`
	Shown []string `json:"-"`
	Visit int      `json:"visit"`
	// Branch is the first node of the step's branch, if it is on one.
	Branch  string `json:"branch,omitempty"`
	Outcome string `json:"outcome"`
	// Error is the failure of the step.
	Error      *machine.Failure `json:"error,omitempty"`
	Next       []string         `json:"next"`
	Candidates []CandidateEdge  `json:"candidates"`
	// Dropped are the joins that the failure bypassed, or that never ran behind the step.
	Dropped []DroppedJoin `json:"dropped,omitempty"`
}

// DroppedJoin is a join whose waiting branches ended.
type DroppedJoin struct {
	Join string `json:"join"`
	Why  string `json:"why"`
}

// CandidateEdge is a machine.Candidate with another JSON form.
type CandidateEdge struct {
	Edge      int    `json:"edge"`
	ID        string `json:"id,omitempty"`
	Label     string `json:"-"`
	To        string `json:"to"`
	Condition string `json:"condition"`
	When      string `json:"when,omitempty"`
	Fired     bool   `json:"fired"`
	Why       string `json:"why"`
	// Test is the condition with its parts, if it was evaluated.
	Test *eval.Reason `json:"test,omitempty"`
}

// decisions collects the decisions of a replay.
type decisions struct {
	only   int  // the wanted step, or 0 for all
	brief  bool // without the parts of conditions
	list   []Decision
	failed map[string]*machine.Failure // nodes whose last execution failed
}

func newDecisions(step int, brief bool) *decisions {
	return &decisions{only: step, brief: brief, list: []Decision{}, failed: map[string]*machine.Failure{}}
}

func (d *decisions) Event(e *runner.Event) error {
	isWanted := d.only == 0 || e.Step == d.only && !strings.Contains(e.Node, "/") // subgraphs number their own steps
	switch {
	case e.Type == runner.NodeFailed:
		d.failed[WithPlaces(e).Node] = e.Error
	case e.Type == runner.NodeCompleted:
		delete(d.failed, WithPlaces(e).Node)
	case e.Type == runner.NodeEvent && e.Said != nil && e.Said.Type == "dropped":
		d.addDropped(e)
	case e.Type == runner.EdgesResolved && isWanted:
		made := d.newDecision(e)
		d.list = append(d.list, made)
		if d.only != 0 && made.Outcome != "failure" { // joins may drop a failure later
			return runner.ErrEnough
		}
	}
	return nil
}

// addDropped adds a dropped join to the decisions of the failures that bypassed it, or else of
// the steps that waited there.
func (d *decisions) addDropped(e *runner.Event) {
	data, _ := e.Said.Data.(map[string]any)
	nodes, _ := data["failed"].([]any)
	outcome := "failure"
	if len(nodes) == 0 {
		nodes, _ = data["arrived"].([]any)
		outcome = "success"
	}
	join := WithPlaces(e).Node
	inside := join[:strings.LastIndex(join, "/")+1] // in a subgraph
	for _, name := range nodes {
		for i, made := range slices.Backward(d.list) {
			if made.At() == inside+name.(string) && made.Outcome == outcome {
				d.list[i].Dropped = append(d.list[i].Dropped, DroppedJoin{join, e.Said.Message})
				break
			}
		}
	}
}

func (d *decisions) newDecision(e *runner.Event) Decision {
	at := WithPlaces(e)
	out := Decision{
		Step: e.Step, Node: e.Node, Place: e.Place, Visit: e.Visit, Branch: e.Branch, Outcome: "success",
		Next: append([]string{}, e.Next...), Shown: slices.Clone(at.Next), Candidates: []CandidateEdge{},
	}
	if failure := d.failed[at.Node]; failure != nil {
		out.Outcome, out.Error = "failure", failure
	}
	for _, c := range e.Candidates {
		if d.brief {
			c.Test = nil
		}
		out.Candidates = append(out.Candidates, CandidateEdge(c))
	}
	return out
}

// At returns the place of the step.
func (d *Decision) At() string { return cmp.Or(d.Place, d.Node) }

// ListDecisions returns the decisions of a step (all for 0) and the result of the replayed part.
func ListDecisions(r *runner.Runner, id string, step int) ([]Decision, *runner.Result, error) {
	found := newDecisions(step, false)
	result, err := r.Replay(id, step, -1, runner.Options{Sink: found})
	if errors.Is(err, runner.ErrEnough) {
		err = nil
	}
	return found.list, result, err
}

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
				node.Jumps[c.To]++
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
