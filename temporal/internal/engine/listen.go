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
func (f *flight) listen(ctx workflow.Context) error {
	f.notes = workflow.GetSignalChannel(f.ctx, signalNote)
	f.place.listen(f.ctx)
	workflow.GoNamed(f.ctx, "cancel", func(own workflow.Context) {
		ctx.Done().Receive(own, nil)
		f.inbox = append(f.inbox, &mail{ask: store.RequestCancel})
	})
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(f.ctx, updateOffer, func(ctx workflow.Context, offer store.Offer) (string, error) {
			return f.deal(ctx, &mail{offer: &offer}).refused, nil
		}, workflow.UpdateHandlerOptions{Validator: f.mayOffer}),
		workflow.SetUpdateHandler(f.ctx, updateAsk, func(ctx workflow.Context, request store.Request) error {
			f.deal(ctx, &mail{ask: request})
			return nil
		}),
		workflow.SetUpdateHandler(f.ctx, updateResume, func(ctx workflow.Context, s runner.Options) (string, error) {
			m := f.deal(ctx, &mail{resume: &s})
			if m.busy != nil {
				return "", turnedAway(m.busy.String(), busyKind, nil, m.busy)
			}
			return m.refused, nil
		}),
		workflow.SetUpdateHandler(f.ctx, updateAdopt, func(ctx workflow.Context, a adoption, journal []byte) (string, error) {
			if err := a.Start.grow(nil, journal); err != nil {
				return err.Error(), nil
			}
			return f.deal(ctx, &mail{adopt: &a}).refused, nil
		}),
		workflow.SetUpdateHandler(f.ctx, updateGraph, func(ctx workflow.Context, call graphCall) (*taskResult, error) {
			return f.deal(ctx, &mail{graph: &call}).result, nil
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

// deal has the workflow do what came in, after what tasks had noted before: a call of a
// graph is for how many calls its task makes side by side.
func (f *flight) deal(ctx workflow.Context, m *mail) *mail {
	f.takeNotes()
	f.inbox = append(f.inbox, m)
	if err := workflow.Await(ctx, func() bool { return m.over }); err != nil {
		m.refused = err.Error()
	}
	return m
}

// refusal is the error of an update that was not accepted.
const refusal = "refused: "

// mayOffer refuses answers that the run would not take, before they are in the
// history.
func (f *flight) mayOffer(_ workflow.Context, offer store.Offer) error {
	if !f.driving {
		return nil // the run is not to be looked at while it pauses: the reply says
	}
	if err := f.host.stage.Check(offer); err != nil {
		return errors.New(refusal + problemsOf(err))
	}
	return nil
}

// answerQueries lets the workflow be looked at.
func (f *flight) answerQueries() error {
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
