// Events of a case's run, for coverage and for the trace of a failing case.

package flowtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
)

// watcher is the sink of a case's run.
type watcher struct {
	hits   *hits
	lines  []string
	acting *acting
	failed string // the node that failed last
}

// Event notes an event.
func (w *watcher) Event(e *runner.Event) error {
	if w.acting.gaveUp() { // what follows is only the end of the run
		return nil
	}
	own := !strings.Contains(e.Node, "/")
	switch e.Type {
	case runner.NodeStarted:
		if w.failed == e.Node {
			w.failed = ""
		}
		if own {
			w.hits.countNode(e.Node)
		}
	case runner.EdgesResolved:
		if own {
			w.hits.countEdges(e)
		}
		if len(e.Next) > 0 || w.failed != e.Node { // the failure has a line already
			w.lines = append(w.lines, w.step(e))
		}
	case runner.NodeRetrying, runner.NodeFailed:
		if w.brokeOff(e) {
			return nil
		}
		w.failed = e.Node
		if e.Error != nil && e.Error.Kind == "invalid_output" && w.acting.c.stubs[e.Node] != nil {
			w.unfit(e)
		}
		if e.Error != nil {
			w.lines = append(w.lines, w.place(e)+" "+e.Node+" "+failureText(e)+": "+short(e.Error.Kind+": "+e.Error.Message))
		}
	case runner.NodeEvent:
		if e.Said != nil && e.Said.Type == "question" {
			w.lines = append(w.lines, "       "+e.Node+" asks: "+short(e.Said.Question.Prompt))
		}
	case runner.RunFinished:
		if e.Result != nil {
			w.lines = append(w.lines, "       "+string(e.Result.Status)+" ("+e.Result.Reason+")")
		}
	}
	return nil
}

// failureText says whether a node failureText for good or is tried again.
func failureText(e *runner.Event) string {
	if e.Type == runner.NodeRetrying {
		return "failed and is tried again in " + e.NextDelay.String()
	}
	return "failed"
}

// brokeOff fails the case when the expression of a stub fails.
func (w *watcher) brokeOff(e *runner.Event) bool {
	s := w.acting.c.stubs[e.Node]
	if s == nil || e.Error == nil || e.Error.Kind != "expression" {
		return false
	}
	text, isStub := strings.CutPrefix(e.Error.Message, exprsKey+".")
	number, text, _ := strings.Cut(text, ": ")
	at, err := strconv.Atoi(number)
	if !isStub || err != nil || at >= len(s.exprs) {
		return false
	}
	_ = w.acting.giveUp(s.exprs[at].line, "the expression of the stub of %s has no value: %s", quoted(e.Node), text)
	return true
}

// unfit notes that a stub breaks the schema of its node.
func (w *watcher) unfit(e *runner.Event) {
	s := w.acting.c.stubs[e.Node]
	failure := Failure{What: "stub", Line: s.line, Got: "the stub of " + quoted(e.Node) + " does not fit: " + e.Error.Message}
	if !s.isReal() && !slices.Contains(w.acting.unfit, failure) {
		w.acting.unfit = append(w.acting.unfit, failure)
	}
}

// place writes the number of a step in a column; nothing for 0.
func (w *watcher) place(e *runner.Event) string { return fmt.Sprintf("%6.0d", e.Step) }

// step writes a line of the trace.
func (w *watcher) step(e *runner.Event) string {
	line := w.place(e) + " " + e.Node
	if e.Visit > 1 {
		line += " #" + strconv.Itoa(e.Visit)
	}
	if len(e.Next) > 0 {
		line += " → " + strings.Join(e.Next, ", ")
	}
	for i := range e.Candidates {
		if c := &e.Candidates[i]; c.Fired && c.When != "" {
			line += "  (" + short(c.When) + ")"
		}
	}
	return line
}

// short cuts a text for a line of the trace.
func short(text string) string { return terminal.Truncate(terminal.Line(text), 100) }
