// Decisions of a run: the edges that its steps could have taken.

package inspect

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

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
	// Dropped are the joins that the failure bypassed.
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

func newDecisions(step int) *decisions {
	return &decisions{only: step, list: []Decision{}, failed: map[string]*machine.Failure{}}
}

func (d *decisions) Event(e *runner.Event) error {
	switch e.Type {
	case runner.NodeFailed:
		d.failed[WithPlaces(e).Node] = e.Error
	case runner.NodeCompleted:
		delete(d.failed, WithPlaces(e).Node)
	case runner.NodeEvent:
		if e.Said != nil && e.Said.Type == "dropped" {
			d.addDropped(e)
		}
	case runner.EdgesResolved:
		// The steps of a subgraph have numbers of their own.
		if d.only == 0 || e.Step == d.only && !strings.Contains(e.Node, "/") {
			made := d.newDecision(e)
			d.list = append(d.list, made)
			if d.only != 0 && made.Outcome != "failure" { // joins may drop it later
				return runner.ErrEnough
			}
		}
	}
	return nil
}

// addDropped adds a dropped join to the decisions of the failures that bypassed it.
func (d *decisions) addDropped(e *runner.Event) {
	data, _ := e.Said.Data.(map[string]any)
	failed, _ := data["failed"].([]any)
	join := WithPlaces(e).Node
	inside := join[:strings.LastIndex(join, "/")+1] // in a subgraph
	for _, name := range failed {
		for i, made := range slices.Backward(d.list) {
			if made.At() == inside+name.(string) && made.Outcome == "failure" {
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
	found := newDecisions(step)
	result, err := r.Replay(id, step, -1, runner.Options{Sink: found})
	if errors.Is(err, runner.ErrEnough) {
		err = nil
	}
	return found.list, result, err
}
