// Requests of other processes to the driver of a run, and cancelling a run without a driver.

package runner

import (
	"context"
	"fmt"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

func requestEvent(r store.Request, at int64) machine.Event {
	if why, cancels := r.Cancels(); cancels {
		return machine.Event{Kind: machine.CancelAsked, At: at, Reason: why}
	}
	return machine.Event{Kind: machine.PauseAsked, At: at}
}

// forwardRequests forwards other processes' requests and answers to the driver until the run ends.
func (d *driver) forwardRequests() {
	if d.journal == nil {
		return
	}
	asked, offers := d.journal.Asked(), d.journal.Offers()
	if asked == nil && offers == nil {
		return
	}
	go func() {
		for {
			select {
			case offer := <-offers:
				d.sendOffer(offer)
			case request := <-asked:
				d.sendEvent(requestEvent(request, d.now()))
			case <-d.done:
				return
			}
		}
	}()
}

func (d *driver) sendOffer(offer store.Offer) {
	d.sendMessage(func() *machine.Event {
		d.offers = append(d.offers, offer)
		return nil
	})
}

// Cancel cancels a run without a driver, and runs its finally nodes here. A run that has ended
// does not change. The error is store.ErrNoRun, or a *store.DrivenError while a driver has the
// run.
func (r *Runner) Cancel(runID string) (*Result, error) {
	return r.withJournal(context.Background(), runID, 0, func(journal store.Journal) (*Result, error) { return r.cancelRun(runID, journal) })
}

func (r *Runner) cancelRun(runID string, held store.Journal) (*Result, error) {
	d, err := r.driverOf(runID, Options{})
	if err != nil {
		return nil, err
	}
	if d.state.Ended() {
		return d.recordedResult(), d.saveSession(d.last)
	}
	d.journal = held
	if err := d.cancelUndriven(); err != nil {
		return nil, err
	}
	if d.state.InFinally() {
		if d.unread != nil {
			return nil, d.unread
		}
		return d.continueRun(context.Background(), held)
	}
	result := d.recordedResult()
	err = d.closeJournal(result)
	d.notifyEnd(result)
	return result, err
}

// cancelUndriven cancels a run whose tasks ended with its driver.
func (d *driver) cancelUndriven() error {
	at := d.now()
	d.countPauseEvents()
	event := machine.Event{Kind: machine.CancelAsked, At: at}
	for left := -1; ; {
		if _, _, err := d.storeThenApply(&event); err != nil {
			return err
		}
		d.emitNotes(at)
		d.last = at
		stopping := d.state.Stopping // also tasks that the driver had cancelled
		if len(stopping) == 0 || len(stopping) == left || d.state.Ended() {
			break
		}
		left = len(stopping)
		event = machine.Event{
			Kind: machine.TaskEnded, At: at, Task: stopping[0].Task,
			Failure: &Failure{Kind: "cancelled", Message: "its process was gone when the run was cancelled"},
		}
	}
	if !d.state.Ended() && !d.state.InFinally() {
		return fmt.Errorf("run %s can't be cancelled: it waits for what nobody does any more", d.opts.RunID)
	}
	return nil
}
