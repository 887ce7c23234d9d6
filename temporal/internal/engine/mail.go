// What comes in to a run from outside, and what it does with it.

package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// mail is what comes in from outside.
type mail struct {
	call   *call // has ended
	note   *note
	graph  *graphCall
	offer  *store.Offer
	ask    store.Request
	resume *runner.Options
	tape   *tape // of the run before it was taken up
	adopt  *adoption
	// refused and result are the reply, when it is over.
	refused string
	result  *taskResult
	turn    *turn // or why there is none
	wrong   error
	oust    *oust
	busy    *store.Waiting // is a reply, too
	over    bool
	again   bool // it is delivered for the second time
}

// deliver gives the run what came in.
func (f *flight) deliver(m *mail) {
	h := f.host
	if h.store.entering() && (m.offer != nil || m.ask != "" || m.resume != nil || m.oust != nil) {
		f.place.late = append(f.place.late, m)
		return
	}
	switch {
	case m.turn != nil:
		f.turned(m)
		return
	case m.oust != nil:
		if f.driving && h.store.holds(m.oust.Ticket) {
			h.stage.Ask(m.oust.Request)
		}
		return
	case m.call != nil:
		f.calls = slices.DeleteFunc(f.calls, func(c *call) bool { return c == m.call })
		if cancel := f.cancels[m.call.id]; cancel != nil {
			delete(f.cancels, m.call.id)
		}
		h.tape.add(m.call.input, m.call.result.Recorded, m.call.result.Used)
		for _, room := range m.call.room {
			room.Settle(handler.Usage{})
		}
		h.stage.Wake(m.call.over)
		return
	case m.note != nil:
		if c := f.find(m.note.Task); c != nil {
			h.tape.add(c.input, m.note.Recorded, nil)
			h.noted(c, m.note)
		}
		return
	case m.graph != nil:
		f.callGraph(m)
		return
	case m.adopt != nil && len(f.inbox) > 0: // nothing that came in is left behind
		f.inbox = append(f.inbox, m)
		return
	case m.adopt != nil:
		f.adopt(m)
	case m.offer != nil:
		if !f.offer(m) {
			f.inbox = append(f.inbox, m)
			return
		}
	case m.ask != "":
		f.ask(m.ask)
	case m.resume != nil && f.next != nil:
		m.refused = wentOn
	case m.resume != nil:
		if !f.driving {
			m.tape, h.tape = h.tape, nil // who resumes a run asks models and tools
			f.resume(m.resume)
			f.replyResumed(m)
			return
		}
	}
	m.over = true
}

// ask does what somebody asks of the run.
func (f *flight) ask(request store.Request) {
	_, cancels := request.Cancels()
	switch {
	case f.driving && f.host.store.stopWaiting(request):
		f.place.stopped = request
	case f.driving:
		f.host.stage.Ask(request)
	case cancels && f.host.result.Status == machine.Paused:
		f.driving = true
		f.host.cancel()
	}
}

// offer gives the run answers; one that pauses for them goes on. A driver that is about to
// end, or to begin, settles nothing: they come before the run once more (false) when that
// has been carried out.
func (f *flight) offer(m *mail) bool {
	h := f.host
	if f.next != nil {
		m.refused = tryAgain
		return true
	}
	if f.driving {
		h.stage.Offer(*m.offer)
		h.stage.Settle(workflow.Now(f.ctx))
		refused, settled := h.store.verdicts[m.offer.ID]
		switch {
		case settled:
			m.refused = refused
		case !m.again:
			m.again = true
			return false
		default:
			m.refused = tryAgain
		}
		return true
	}
	h.answer(m.offer.Answers, m.offer.By)
	h.stage.Settle(workflow.Now(f.ctx))
	if h.err != nil {
		m.refused = problemsOf(h.err)
		f.settle()
		return true
	}
	if h.result.Reason != "pause" {
		f.goOn()
	}
	return true
}

// tryAgain refuses answers that came while the run was about to pause or to go on.
const tryAgain = "the run took no answers just now; try again"

// problemsOf is what is wrong with what somebody asked for, in lines.
func problemsOf(err error) string {
	var bad *runner.InputError
	if errors.As(err, &bad) {
		return strings.Join(bad.Problems, "\n")
	}
	return err.Error()
}

// callGraph runs a graph as a tool of a task.
func (f *flight) callGraph(m *mail) {
	h, c := f.host, f.find(m.graph.Task)
	if c == nil || c.task.CallGraph == nil {
		m.result, m.over = failed("cancelled", "the task is over"), true
		return
	}
	h.work(func() {
		a := (&runner.Task{}).Try(c.ctx, runner.HandlerFunc(func(ctx context.Context, _ *runner.Task) (any, error) {
			return c.task.CallGraph(ctx, m.graph.GraphCall)
		}))
		m.result, m.over = &taskResult{Attempt: *a}, true
	})
}
