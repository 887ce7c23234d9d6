// Results of runs, as `-o json` prints them.

package runner

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
)

// Result is the state of a run, finished or not. Its JSON is a public contract.
type Result struct {
	RunID   string          `json:"run_id"`
	Graph   string          `json:"graph"`
	Status  machine.Status  `json:"status"`
	Quality machine.Quality `json:"quality"` // null while paused
	Reason  string          `json:"reason"`
	Limited bool            `json:"limited"`
	Start   string          `json:"start"`
	// Steps counts the executions that have ended, including those in subgraphs.
	Steps int `json:"steps"`
	// MaxSteps is the effective limit of steps.
	MaxSteps int `json:"max_steps"`
	// MaxStateBytes is the effective limit of the state.
	MaxStateBytes int `json:"-"`
	// Path lists node executions by rank, then in declaration order of the branches.
	Path []string `json:"path"`
	// State holds every declared key that has a value; secret keys are masked.
	State  map[string]any   `json:"state"`
	Output any              `json:"output"`
	Error  *machine.Failure `json:"error"`
	// Pending holds the open questions, also while other branches run.
	Pending []view.Pending `json:"pending"`
	// Due is the time of the next timeout of a question, end of a wait or retry, or nil.
	Due *time.Time `json:"due"`
	// Running lists the executions of a running or crashed run.
	Running []view.RunningNode `json:"running,omitempty"`
	// Unused lists the targets of unused answers that were given in advance.
	Unused []string `json:"-"`
	// PausedAt is the breakpoint of a paused run.
	PausedAt *view.PausedAt `json:"paused_at,omitempty"`
	// Partial holds the output so far of interrupted nodes, by node id.
	Partial map[string]any `json:"partial,omitempty"`
	// Finally holds the results of the nodes of finally, in order. They do not count as steps.
	Finally   []view.FinallyResult `json:"finally,omitempty"`
	Edges     []view.EdgeCount     `json:"edges"`
	Usage     view.Usage           `json:"usage"`
	StartedAt time.Time            `json:"started_at"`
	Duration  view.Milliseconds    `json:"duration_ms"`
	History   []view.HistoryRecord `json:"history,omitempty"`
}

// ExitCode returns 0 for completed, 1 failed, 4 stuck, 5 limit, 10 paused, 130 cancelled. With
// strict, only a clean run returns 0.
func (r *Result) ExitCode(strict bool) int {
	switch r.Status {
	case machine.Completed:
		switch {
		case r.Limited:
			return 5
		case strict && r.Quality != machine.Clean:
			return 1
		}
		return 0
	case machine.Stuck:
		return 4
	case machine.Limit:
		return 5
	case machine.Paused:
		return 10
	case machine.Cancelled:
		return 130
	}
	return 1
}

func (d *driver) newResult() *Result {
	s := d.state
	d.learnStateSecrets()
	for i := range d.history { // mask values that became secret later
		d.history[i].Output = d.mask.MaskValue(d.history[i].Output)
		d.history[i].Error = d.mask.MaskFailure(d.history[i].Error)
	}
	slices.SortStableFunc(d.history, func(a, b view.HistoryRecord) int { return cmp.Compare(historySortKey(&a), historySortKey(&b)) })
	partial, _ := d.mask.MaskValue(s.Partial()).(map[string]any)
	out := &Result{
		RunID: d.opts.RunID, Graph: d.plan.Graph.Name.Value, Status: s.Status, Quality: s.Quality, Reason: s.Reason, Limited: s.Limited,
		Start: d.plan.Start(), Steps: s.Steps(), MaxSteps: s.MaxSteps(), MaxStateBytes: s.MaxStateBytes(), Path: []string{}, State: map[string]any{},
		Output: d.mask.MaskValue(s.Output), Error: d.mask.MaskFailure(s.Failure), Pending: []view.Pending{}, PausedAt: newPausedAt(s), Partial: partial,
		Usage: view.NewUsage(s.Usage()), StartedAt: d.started.UTC(), Duration: d.elapsed(d.now()), History: d.history,
	}
	var fired map[int]int
	if root := s.Scope(""); root != nil {
		out.Path, out.State, fired = root.PathNodes(), d.mask.MaskState(d.plan.Graph, root.Values()), root.Fired
		out.Finally = d.finallyResults(root.Finals)
	}
	out.Edges = view.CountEdges(d.plan.Graph, fired)
	if !s.HasEnded() {
		for _, q := range s.Questions() {
			out.Pending = append(out.Pending, d.newPending(&q))
		}
		out.Due = timeOrNil(s.Due())
	}
	return out
}

func newPausedAt(s *machine.State) *view.PausedAt {
	if s.Status != machine.Paused || len(s.PausedAt) == 0 {
		return nil
	}
	out := &view.PausedAt{Phase: s.PausedAt[0].Phase}
	for _, stop := range s.PausedAt {
		if stop.Phase == out.Phase {
			out.Nodes = append(out.Nodes, stop.Node)
		}
	}
	return out
}

// historySortKey returns the sort key of a record. Nodes of finally come last.
func historySortKey(h *view.HistoryRecord) int {
	if h.Finally {
		return math.MaxInt
	}
	return h.Step
}

func (d *driver) finallyResults(ends []machine.FinallyEnd) []view.FinallyResult {
	var out []view.FinallyResult
	for _, end := range ends {
		result := view.FinallyResult{Node: end.Node, Outcome: "success", Error: d.mask.MaskFailure(end.Failure)}
		switch {
		case end.Skipped:
			result.Outcome = "skipped"
		case end.Failure != nil:
			result.Outcome = "failure"
		}
		out = append(out, result)
	}
	return out
}

// elapsed returns the run's working and waiting time up to a Unix time in nanoseconds.
func (d *driver) elapsed(at int64) view.Milliseconds {
	if d.state.Idle || d.state.HasEnded() {
		at = d.state.Now
	}
	return view.Milliseconds(max(0, time.Duration(at-d.state.Began)-d.state.IdleTime()))
}
