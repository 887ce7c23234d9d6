// What a workflow takes from outside.

package engine

import (
	"encoding/json"
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

// listen lets the workflow take updates, signals and queries.
func (f *workflowRun) listen(ctx workflow.Context) error {
	f.notes = workflow.GetSignalChannel(f.ctx, signalNote)
	f.group.listen(f.ctx)
	workflow.GoNamed(f.ctx, "cancel", func(own workflow.Context) {
		ctx.Done().Receive(own, nil)
		f.inbox = append(f.inbox, message{waits: true, do: func() { f.ask(store.RequestCancel) }})
	})
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(f.ctx, updateOffer, func(ctx workflow.Context, offer store.Offer) (refused string, err error) {
			for range 2 { // again, when what the run was about to do has been done
				settled := false
				err = f.do(ctx, true, func(done *bool) {
					refused, settled = f.offer(&offer)
					*done = true
				})
				if settled || err != nil {
					return refused, err
				}
			}
			return tryAgain, nil
		}, workflow.UpdateHandlerOptions{Validator: f.mayOffer}),
		workflow.SetUpdateHandler(f.ctx, updateAsk, func(ctx workflow.Context, request store.Request) error {
			return f.do(ctx, true, func(done *bool) {
				f.ask(request)
				*done = true
			})
		}),
		workflow.SetUpdateHandler(f.ctx, updateResume, f.handleResume),
		workflow.SetUpdateHandler(f.ctx, updateAdopt, func(ctx workflow.Context, a adoption, journal []byte) (refused string, err error) {
			if err := a.Start.addJournal(nil, journal); err != nil {
				return err.Error(), nil
			}
			return refused, f.do(ctx, false, func(done *bool) { f.adopt(&a, &refused, done) })
		}),
		workflow.SetUpdateHandler(f.ctx, updateGraph, func(ctx workflow.Context, call graphCall) (result *taskResult, err error) {
			err = f.do(ctx, false, func(done *bool) { f.callGraph(&call, &result, done) })
			return result, err
		}),
		workflow.SetUpdateHandler(f.ctx, updateReserve, func(_ workflow.Context, r reservation) (*reserved, error) {
			c := f.find(r.Task)
			if c == nil {
				return &reserved{Failure: &runner.Failure{Kind: "cancelled", Message: "the task is over"}}, nil
			}
			return f.host.reserve(c, &r), nil
		}),
		f.answerQueries(),
	)
}

// handleResume drives the run on, since somebody wants it. The reply says why it is refused.
func (f *workflowRun) handleResume(ctx workflow.Context, s runner.Options) (refused string, err error) {
	wrong := f.do(ctx, true, func(done *bool) {
		switch {
		case f.next != nil:
			refused, *done = wentOn, true
		case f.driving:
			*done = true
		default:
			tape := f.host.tape
			f.host.tape = nil // who resumes a run asks models and tools
			f.resume(&s)
			f.resumed = func(why error) {
				if *done = true; why == nil {
					return
				}
				f.host.tape = tape
				if busy := (*store.BusyError)(nil); errors.As(why, &busy) {
					err = rejectedAs(busyKind, busy, &busy.Waiting)
				} else {
					refused = problemsOf(why)
				}
			}
		}
	})
	if wrong != nil {
		return "", wrong
	}
	return refused, err
}

// refusal is the error of an update that was not accepted.
const refusal = "refused: "

// mayOffer refuses answers that the run would not take, before they are in the
// history.
func (f *workflowRun) mayOffer(_ workflow.Context, offer store.Offer) error {
	if !f.driving {
		return nil // the run is not to be looked at while it pauses: the reply says
	}
	if err := f.host.stage.Check(offer); err != nil {
		return errors.New(refusal + problemsOf(err))
	}
	return nil
}

// answerQueries lets the workflow be looked at.
func (f *workflowRun) answerQueries() error {
	h := f.host
	return errors.Join(
		workflow.SetQueryHandler(f.ctx, queryJournal, func(q journalQuery) (*journalPart, error) {
			return h.events(q.From, q.Size, q.Live), nil
		}),
		workflow.SetQueryHandler(f.ctx, queryState, func(most int) (*store.Snapshot, error) {
			s, err := h.store.Snapshot("", h.store.atMost(most))
			return &s, err
		}),
		workflow.SetQueryHandler(f.ctx, queryTape, func() ([]string, error) {
			if h.tape == nil {
				return nil, nil
			}
			return h.tape.Recorded, nil
		}),
		workflow.SetQueryHandler(f.ctx, queryLog, func(task string) ([]json.RawMessage, error) {
			c := f.find(task)
			if c == nil {
				return nil, errors.New("the task is over")
			}
			return c.noted, nil
		}),
	)
}
