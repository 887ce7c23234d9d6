// Updates, signals and queries that a workflow takes.

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/store"
)

const (
	// tryAgain refuses answers that came while the run was about to pause or to go on.
	tryAgain = "the run took no answers just now; try again"
	// wentOn refuses a version because it was compared with a run that went on meanwhile.
	wentOn = "the run went on meanwhile; try again"
	// refusal begins the error of an update that was not accepted.
	refusal = "refused: "
)

// listen registers the handlers.
func (f *workflowRun) listen(ctx workflow.Context) error {
	f.notes = workflow.GetSignalChannel(f.ctx, signalNote)
	f.group.turns, f.group.evicts = workflow.GetSignalChannel(f.ctx, signalTurn), workflow.GetSignalChannel(f.ctx, signalEvict)
	workflow.GoNamed(f.ctx, "cancel", func(own workflow.Context) {
		ctx.Done().Receive(own, nil)
		_ = f.handleAsk(own, store.RequestCancel)
	})
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(f.ctx, updateOffer, f.handleOffer, workflow.UpdateHandlerOptions{Validator: f.mayOffer}),
		workflow.SetUpdateHandler(f.ctx, updateAsk, f.handleAsk),
		workflow.SetUpdateHandler(f.ctx, updateResume, f.handleResume),
		workflow.SetUpdateHandler(f.ctx, updateAdopt, f.handleAdopt),
		workflow.SetUpdateHandler(f.ctx, updateGraph, f.handleGraph),
		workflow.SetUpdateHandler(f.ctx, updateReserve, f.handleReserve),
		f.answerQueries(),
	)
}

// awaitSettled waits until the run is driven or pauses, and has read all notes. A run that
// enters its group is neither.
func (f *workflowRun) awaitSettled(ctx workflow.Context) error {
	err := workflow.Await(ctx, func() bool {
		return f.next == nil && (f.current == nil || f.current.began && !f.store.entering())
	})
	f.beginTask()
	f.takeNotes()
	return err
}

// handleAsk passes a request to the driver, or cancels a run that pauses.
func (f *workflowRun) handleAsk(ctx workflow.Context, request store.Request) error {
	if err := f.awaitSettled(ctx); err != nil {
		return err
	}
	_, cancels := request.Cancels()
	switch s := f.group; {
	case f.driver != nil:
		f.driver.Ask(request)
	case f.current != nil && s.waiting:
		s.request, f.group.stopped = request, request
	case f.current == nil && cancels && !f.over && f.elsewhere == nil:
		f.next = &drive{do: f.cancel}
	}
	return nil
}

// mayOffer refuses answers that the run would not take, before they are in the history.
func (f *workflowRun) mayOffer(_ workflow.Context, offer store.Offer) error {
	if f.driver == nil {
		return nil // a run that pauses is looked at by the reply
	}
	if err := f.driver.Check(offer); err != nil {
		return errors.New(refusal + problemsOf(err))
	}
	return nil
}

// handleOffer gives the run answers; one that pauses for them goes on. A driver that is
// about to end settles nothing.
func (f *workflowRun) handleOffer(ctx workflow.Context, offer store.Offer) (refused string, err error) {
	for range 2 {
		if err := f.awaitSettled(ctx); err != nil {
			return "", err
		}
		if f.elsewhere != nil {
			break
		}
		if f.current == nil {
			return f.answer(&offer), nil
		}
		driver := f.driver
		if driver == nil {
			break
		}
		driver.Offer(offer)
		known := false
		err := workflow.Await(ctx, func() bool {
			refused, known = f.store.verdicts[offer.ID]
			return known || f.driver != driver
		})
		if known || err != nil {
			return refused, err
		}
	}
	return tryAgain, nil
}

// answer gives answers to a run that pauses. It returns why they are refused.
func (f *workflowRun) answer(offer *store.Offer) (refused string) {
	if _, err := f.runner.Answer(context.Background(), f.start.Record.ID, offer.Answers, offer.By); err != nil {
		return problemsOf(err)
	}
	if f.result.Reason != "pause" && !f.over {
		f.next = f.goOn()
	}
	return ""
}

// problemsOf returns the problems of a request, a line each.
func problemsOf(err error) string {
	var bad *runner.InputError
	if errors.As(err, &bad) {
		return strings.Join(bad.Problems, "\n")
	}
	return err.Error()
}

// handleResume drives the run on, since somebody wants it. The reply says why it is refused.
func (f *workflowRun) handleResume(ctx workflow.Context, s runner.Options) (refused string, err error) {
	if err := f.awaitSettled(ctx); err != nil {
		return "", err
	}
	switch {
	case f.over || f.elsewhere != nil:
		return wentOn, nil
	case f.current != nil:
		return "", nil
	}
	tape, d := f.tape, f.resume(&s)
	f.tape, f.next = nil, d // who resumes a run asks models and tools
	err = workflow.Await(ctx, func() bool { return d.over || d.began && !f.store.entering() })
	if d.err == nil || err != nil {
		return "", err
	}
	f.tape = tape
	if busy := (*store.BusyError)(nil); errors.As(d.err, &busy) {
		return "", rejectedAs(busyKind, busy, &busy.Waiting)
	}
	return problemsOf(d.err), nil
}

// handleAdopt has a run that pauses go on in a new workflow with another version.
func (f *workflowRun) handleAdopt(ctx workflow.Context, a adoption, events []json.RawMessage) (refused string, err error) {
	a.Start.Seed.Events = events
	if err := f.awaitSettled(ctx); err != nil {
		return "", err
	}
	if f.current != nil || f.over || f.elsewhere != nil || a.Events != f.store.length() {
		return wentOn, nil
	}
	f.elsewhere = &a.Start
	return "", nil
}

// handleGraph runs a graph as a tool of a task.
func (f *workflowRun) handleGraph(ctx workflow.Context, call graphCall) (result *taskResult, err error) {
	f.beginTask()
	f.takeNotes()
	c := f.find(call.Task)
	if c == nil || c.job.Call == nil {
		return failureResult("cancelled", "the task is over"), nil
	}
	c.job.Call(call.GraphCall, func(output any, err error) {
		result = &taskResult{Attempt: *new(runner.Task).Try(context.Background(), runner.HandlerFunc(func(context.Context, *runner.Task) (any, error) {
			return output, err
		}))}
	})
	err = workflow.Await(ctx, func() bool { return result != nil || c.over || c.unwanted })
	if result == nil {
		result = failureResult("cancelled", "context canceled")
	}
	return result, err
}

// handleReserve keeps room in the budget for a call of a task.
func (f *workflowRun) handleReserve(_ workflow.Context, r reservation) (*reserved, error) {
	c := f.find(r.Task)
	if c == nil {
		return &reserved{Failure: &runner.Failure{Kind: "cancelled", Message: "the task is over"}}, nil
	}
	room, err := c.job.Task.Models.Reserve(handler.Reservation{
		Input: r.Input, Output: r.Output,
		Cost: func(_, output int) (float64, bool) { return r.Base + r.Each*float64(output), r.Known },
	})
	if err != nil {
		var failure *runner.Failure
		if !errors.As(err, &failure) {
			failure = &runner.Failure{Kind: "failed", Message: err.Error()}
		}
		return &reserved{Failure: failure}, nil
	}
	c.room[r.ID] = room
	return &reserved{Output: room.Output}, nil
}

// answerQueries lets the workflow be looked at.
func (f *workflowRun) answerQueries() error {
	return errors.Join(
		workflow.SetQueryHandler(f.ctx, queryJournal, func(q journalQuery) (*journalPart, error) { return f.store.part(&q), nil }),
		workflow.SetQueryHandler(f.ctx, queryState, func(most int) (*store.Snapshot, error) {
			s, err := f.store.Snapshot("", f.store.atMost(most))
			return &s, err
		}),
		workflow.SetQueryHandler(f.ctx, queryTape, func() ([]string, error) {
			if f.tape == nil {
				return nil, nil
			}
			return f.tape.Recorded, nil
		}),
		workflow.SetQueryHandler(f.ctx, queryLog, func(task string) ([]any, error) {
			if c := f.find(task); c != nil {
				return c.noted, nil
			}
			return nil, errors.New("the task is over")
		}),
	)
}
