// Runs inside another engine, which executes their tasks and timers.

package runner

import (
	"context"
	"errors"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Host drives runs inside another engine, such as a workflow, in one goroutine. It calls a driver's
// functions only during Wait. If a host repeats the recorded calls, the run repeats, too.
type Host interface {
	Clock
	// AttachDrive is called with the driver of a run before its first event.
	AttachDrive(d *Drive)
	// Wait returns when ready reports true. After an error the driver stops.
	Wait(ready func() bool) error
	// Start starts a task. cancel asks the task to end.
	Start(job *Job) (cancel func())
}

// Job is a task that a host executes. Note and Emit of its Task return at once.
type Job struct {
	Task *Task
	// Choice is the decision to make; nil for the task of a node.
	Choice *handler.Choice
	// End ends the task with a result.
	End func(result *handler.Attempt)
	// Decided ends the decision.
	Decided func(target, reasoning string, err error)
	// Call runs a graph as a tool and passes its result to done; nil if the file declares none.
	Call func(call handler.GraphCall, done func(output any, err error))
}

// Drive is the handle of a driver for its host.
type Drive struct{ driver *driver }

// SendRequest sends a request to the run.
func (d *Drive) SendRequest(request store.Request) {
	d.driver.sendEvent(requestEvent(request, d.driver.now()))
}

// SendOffer sends answers to the run, whose journal then settles them.
func (d *Drive) SendOffer(offer store.Offer) { d.driver.sendOffer(offer) }

// CheckOffer returns an *InputError for answers that the run would refuse.
func (d *Drive) CheckOffer(offer store.Offer) error {
	_, err := d.driver.answerEvents(offer.Answers, offer.By)
	return err
}

// UnusedAnswers returns the unused answers that were given in advance.
func (d *Drive) UnusedAnswers() map[string][]string { return d.driver.answers }

// errHosted means that the host runs the task.
var errHosted = errors.New("the host does it")

// deferToHost is the handler of every node in a hosted run.
func deferToHost(context.Context, *Task) (any, error) { return nil, errHosted }

// startHostedTask passes a task to the host, which calls end with its result.
func (d *driver) startHostedTask(id machine.TaskID, work *machine.Work, task *Task, end func(machine.Event)) {
	now := d.clock.Now()
	d.cancel[id] = d.host.Start(&Job{Task: task, Call: d.hostedCall(id), End: func(a *handler.Attempt) {
		if a.Failure == nil && len(a.Asks) == 0 {
			d.cacheResult(work, task, a.Output, now)
		}
		end(endEvent(a))
	}})
}

// hostedCall returns Job.Call for a task, if it can call graphs.
func (d *driver) hostedCall(id machine.TaskID) func(handler.GraphCall, func(any, error)) {
	calls := d.graphCalls[id]
	if calls == nil {
		return nil
	}
	return func(call handler.GraphCall, done func(any, error)) {
		calls.beginCall(call, func(r graphResult) { done(r.outputOrError()) })
	}
}
