// Updates, signals and queries that the workflow of a run handles.

package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

const (
	// tryAgain refuses answers that came while the run was about to pause or to continue.
	tryAgain = "the run took no answers just now; try again"
	// refusal begins the error of an update that was not accepted.
	refusal = "refused: "
)

func (f *workflowRun) registerHandlers(ctx workflow.Context) error {
	f.notes, f.turns = workflow.GetSignalChannel(f.ctx, signalNote), workflow.GetSignalChannel(f.ctx, signalTurn)
	workflow.GoNamed(f.ctx, "cancel", func(own workflow.Context) {
		ctx.Done().Receive(own, nil)
		_ = f.handleRequest(own, store.RequestCancel)
	})
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(f.ctx, updateOffer, f.handleOffer, workflow.UpdateHandlerOptions{Validator: f.checkOffer}),
		workflow.SetUpdateHandler(f.ctx, updateRequest, f.handleRequest),
		workflow.SetUpdateHandler(f.ctx, updateAdopt, f.handleAdopt),
		workflow.SetUpdateHandler(f.ctx, updateGraph, f.handleGraph),
		workflow.SetUpdateHandler(f.ctx, updateReserve, f.handleReserve),
		workflow.SetQueryHandler(f.ctx, queryJournal, func(q journalQuery) (*journalPart, error) { return f.store.queryPart(&q), nil }),
		workflow.SetQueryHandler(f.ctx, queryState, func(most int) (store.Snapshot, error) {
			return f.store.Snapshot("", f.store.limitToFinal(most))
		}),
		workflow.SetQueryHandler(f.ctx, queryLog, func(task string) ([]any, error) {
			if c := f.findCall(task); c != nil {
				return c.noted, nil
			}
			return nil, errors.New("the task is over")
		}),
	)
}

// awaitSettled waits until the run is driven or paused, not entering its group, and has read all notes.
func (f *workflowRun) awaitSettled(ctx workflow.Context) error {
	err := workflow.Await(ctx, func() bool {
		return f.next == nil && (f.current == nil || !f.store.isEntering())
	})
	f.beginTask()
	f.receiveNotes()
	return err
}

// isPaused reports whether the run pauses here.
func (f *workflowRun) isPaused() bool { return f.current == nil && !f.over && f.successor == nil }

// handleRequest passes a request to the driver, or cancels a paused run.
func (f *workflowRun) handleRequest(ctx workflow.Context, request store.Request) error {
	if err := f.awaitSettled(ctx); err != nil {
		return err
	}
	_, cancels := request.CancelReason()
	switch {
	case f.driver != nil:
		f.driver.SendRequest(request)
	case f.current != nil && f.slot.waiting:
		f.slot.request, f.stopped = request, request
	case cancels && f.isPaused():
		f.next = &drive{do: f.cancelRun}
	}
	return nil
}

// checkOffer refuses answers that the run would not take, before they are in the history.
func (f *workflowRun) checkOffer(_ workflow.Context, offer store.Offer) error {
	if f.driver == nil {
		return nil // handleOffer checks the answers for a paused run
	}
	if err := f.driver.CheckOffer(offer); err != nil {
		return errors.New(refusal + formatProblems(err))
	}
	return nil
}

// handleOffer gives the run answers, and resumes a paused run. It tries twice, since a driver that
// is about to end settles no offer.
func (f *workflowRun) handleOffer(ctx workflow.Context, offer store.Offer) (refused string, err error) {
	for range 2 {
		if err := f.awaitSettled(ctx); err != nil {
			return "", err
		}
		driver := f.driver
		switch {
		case f.successor != nil || f.current != nil && driver == nil:
			return tryAgain, nil
		case f.current == nil:
			return f.answerPaused(&offer), nil
		}
		driver.SendOffer(offer)
		isKnown := false
		err := workflow.Await(ctx, func() bool {
			refused, isKnown = f.store.verdicts[offer.ID]
			return isKnown || f.driver != driver
		})
		if isKnown || err != nil {
			return refused, err
		}
	}
	return tryAgain, nil
}

// answerPaused gives answers to a paused run. It returns why they are refused, or "".
func (f *workflowRun) answerPaused(offer *store.Offer) (refused string) {
	if _, err := f.runner.Answer(context.Background(), f.start.Record.ID, offer.Answers, offer.By); err != nil {
		return formatProblems(err)
	}
	if f.result.Reason != "pause" && !f.over {
		f.next = f.newSelfResume()
	}
	return ""
}

// formatProblems returns the problems of a request, one per line.
func formatProblems(err error) string {
	if bad, ok := errors.AsType[*runner.InputError](err); ok {
		return strings.Join(bad.Problems, "\n")
	}
	return err.Error()
}

// handleAdopt moves a paused run to a new workflow, which resumes it. It refuses if the run has continued.
func (f *workflowRun) handleAdopt(ctx workflow.Context, next *Start, _ []byte, events []json.RawMessage) (isRefused bool, err error) {
	err = f.awaitSettled(ctx)
	if err != nil || !f.isPaused() || len(events) != f.store.eventCount() {
		return true, err
	}
	next.Seed.Events = events
	f.successor = next
	return false, nil
}

func (f *workflowRun) handleGraph(ctx workflow.Context, call graphCall) (result *taskResult, err error) {
	f.beginTask()
	f.receiveNotes()
	c := f.findCall(call.Task)
	if c == nil || c.job.Call == nil {
		return newFailure("cancelled", "the task is over"), nil
	}
	c.job.Call(call.GraphCall, func(output any, err error) { result = newResult(output, err) })
	err = workflow.Await(ctx, func() bool { return result != nil || c.over || c.unwanted })
	return cmp.Or(result, newFailure("cancelled", "context canceled")), err
}

// handleReserve reserves tokens of the budget for a call of a task.
func (f *workflowRun) handleReserve(_ workflow.Context, r reservation) (*taskResult, error) {
	c := f.findCall(r.Task)
	if c == nil {
		return newFailure("cancelled", "the task is over"), nil
	}
	tokens, err := c.job.Task.Models.Reserve(r.Reservation)
	if err != nil {
		return newResult(nil, err), nil
	}
	c.reserved = append(c.reserved, tokens)
	return newResult(tokens.Output, nil), nil
}

// newResult makes the result of a task from its output or its error.
func newResult(output any, err error) *taskResult {
	returns := runner.HandlerFunc(func(context.Context, *runner.Task) (any, error) { return output, err })
	return &taskResult{Attempt: *new(runner.Task).RunHandler(context.Background(), returns)}
}
