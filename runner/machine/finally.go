// The nodes of `finally` (GraphSpec §2): when the end of a scope is decided, they run one
// after the other. Nothing limits them, and they lead nowhere.

package machine

import (
	"time"

	"github.com/graphrun/graphrun/eval"
)

// finallyGrace is the time for all finally nodes of a cancelled run.
const finallyGrace = 5 * time.Second

// FinallyEnd is the result of a finally node.
type FinallyEnd struct {
	Node  string `json:"node"`
	Visit int    `json:"visit,omitempty"`
	// Skipped means that the time of a cancelled run was up before it began.
	Skipped bool `json:"skipped,omitempty"`
	// Failure is nil after a success.
	Failure *Failure `json:"failure,omitempty"`
}

// startNextFinal runs the next finally node. After the last one the scope closes.
func (sc *Scope) startNextFinal() {
	s := sc.state
	if s.Grace == graceOver {
		for ; sc.FinalNext < len(sc.plan.finally); sc.FinalNext++ {
			sc.Finals = append(sc.Finals, FinallyEnd{Node: sc.plan.nodes[sc.plan.finally[sc.FinalNext]].id, Skipped: true})
		}
	}
	if sc.FinalNext == len(sc.plan.finally) {
		sc.closeScope()
		return
	}
	v := sc.finalView()
	t := &Task{
		Node: sc.plan.finally[sc.FinalNext], View: v.ID, Rank: sc.MaxRank + 1, Position: &Position{}, Final: true, Cause: sc.End.Failure, Inputs: map[string]any{},
		Input: map[string]any{
			"status": string(sc.End.Status), "reason": sc.End.Reason, "error": failureData(sc.End.Failure), "output": sc.End.Output,
		},
	}
	s.Numbers.Task++
	t.ID, t.scope = s.Numbers.Task, sc
	sc.FinalNext++
	sc.Final = t
	s.makeReady(ready{t, nil})
}

// finalView returns the view for finally: all steps merged. A resume drops it.
func (sc *Scope) finalView() *View {
	if sc.FinalView != 0 {
		return sc.findView(sc.FinalView)
	}
	whole, _ := sc.mergeAllTasks()
	v := sc.newView(nil)
	v.Vals, v.Visits, v.Mem = whole.Vals, whole.Visits, whole.Mem
	v.Count, v.Thread, v.Size = whole.Count, whole.Thread, whole.Size
	sc.FinalView = v.ID
	return v
}

func (sc *Scope) recordFinal(t *Task) {
	t.view().applyTask(t)
	sc.Final = nil
	sc.Finals = append(sc.Finals, FinallyEnd{Node: sc.plan.nodes[t.Node].id, Visit: t.Visit, Failure: t.Failure})
}

// startGrace limits the remaining time of finally, because the run is being cancelled.
func (s *State) startGrace() {
	if s.Grace == 0 {
		s.Grace = graceRuns
		s.addCommand(Command{Kind: StartTimer, Timer: GraceTimer, For: finallyGrace})
	}
}

// cancelFinally cancels what is left of finally.
func (s *State) cancelFinally() {
	root := s.root()
	if root.End == nil || s.Grace != graceRuns {
		return
	}
	s.Grace = graceOver
	if t := root.Final; t != nil {
		for _, u := range t.Units {
			t.stopUnit(u)
		}
		t.failStep(&Failure{
			Kind: "cancelled", Message: "the " + eval.DurationText(finallyGrace) + " that finally has after a cancellation were up",
		})
	}
}
