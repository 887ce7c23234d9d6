// What comes in to a run from outside, and what the run does with it.

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

// message is something that came in: what is to be done about it.
type message struct {
	do func()
	// waits delays the message until the run knows whether it holds a slot of its group.
	waits bool
}

// post appends a message to the inbox.
func (f *workflowRun) post(do func()) { f.inbox = append(f.inbox, message{do: do}) }

// readable returns the index of the first message that can be read now, or -1.
func (f *workflowRun) readable() int {
	entering := f.host.store.entering()
	return slices.IndexFunc(f.inbox, func(m message) bool { return !m.waits || !entering })
}

// read reads a message, if there is one.
func (f *workflowRun) read() {
	if i := f.readable(); i >= 0 {
		m := f.inbox[i]
		f.inbox = slices.Delete(f.inbox, i, i+1)
		m.do()
	}
}

// do runs what inside the driver, after all notes of tasks, and waits until it sets done.
// With waits, it runs only once the run knows whether it holds a slot of its group.
func (f *workflowRun) do(ctx workflow.Context, waits bool, what func(done *bool)) error {
	f.takeNotes()
	done := false
	f.inbox = append(f.inbox, message{waits: waits, do: func() { what(&done) }})
	return workflow.Await(ctx, func() bool { return done })
}

// taskEnded passes the result of a task to the driver and records what it used.
func (f *workflowRun) taskEnded(c *call) {
	f.calls = slices.DeleteFunc(f.calls, func(o *call) bool { return o == c })
	delete(f.cancels, c.id)
	f.host.tape.add(c.input, c.result.Recorded, c.result.Used)
	for _, room := range c.room {
		room.Settle(handler.Usage{})
	}
	f.host.stage.Wake(c.over)
}

// takeNotes receives the notes that tasks have sent.
func (f *workflowRun) takeNotes() {
	for n := new(note); f.notes.ReceiveAsync(n); n = new(note) {
		noted := n
		f.post(func() {
			if c := f.find(noted.Task); c != nil {
				f.host.tape.add(c.input, noted.Recorded, nil)
				f.host.noted(c, noted)
			}
		})
	}
}

// ask does what somebody asks of the run.
func (f *workflowRun) ask(request store.Request) {
	_, cancels := request.Cancels()
	switch {
	case f.driving && f.host.store.stopWaiting(request):
		f.group.stopped = request
	case f.driving:
		f.host.stage.Ask(request)
	case cancels && f.host.result.Status == machine.Paused:
		f.driving = true
		f.host.cancel()
	}
}

// offer gives the run answers; one that pauses for them goes on. A driver that is about to
// end, or to begin, settles nothing: then settled is false.
func (f *workflowRun) offer(offer *store.Offer) (refused string, settled bool) {
	h := f.host
	if f.next != nil {
		return tryAgain, true
	}
	if f.driving {
		h.stage.Offer(*offer)
		h.stage.Settle(workflow.Now(f.ctx))
		refused, settled = h.store.verdicts[offer.ID]
		return refused, settled
	}
	h.answer(offer.Answers, offer.By)
	h.stage.Settle(workflow.Now(f.ctx))
	if h.err != nil {
		refused = problemsOf(h.err)
		f.settle()
	} else if h.result.Reason != "pause" {
		f.goOn()
	}
	return refused, true
}

// tryAgain refuses answers that came while the run was about to pause or to go on.
const tryAgain = "the run took no answers just now; try again"

// problemsOf returns the problems of a request, a line each.
func problemsOf(err error) string {
	var bad *runner.InputError
	if errors.As(err, &bad) {
		return strings.Join(bad.Problems, "\n")
	}
	return err.Error()
}

// callGraph runs a graph as a tool of a task.
func (f *workflowRun) callGraph(call *graphCall, result **taskResult, done *bool) {
	h, c := f.host, f.find(call.Task)
	if c == nil || c.task.CallGraph == nil {
		*result, *done = failed("cancelled", "the task is over"), true
		return
	}
	h.work(func() {
		a := (&runner.Task{}).Try(c.ctx, runner.HandlerFunc(func(ctx context.Context, _ *runner.Task) (any, error) {
			return c.task.CallGraph(ctx, call.GraphCall)
		}))
		*result, *done = &taskResult{Attempt: *a}, true
	})
}
