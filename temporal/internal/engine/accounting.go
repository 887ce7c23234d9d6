// Accounts of the calls of models that a task makes apart from its driver.

package engine

import (
	"context"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/runner/handler"
)

// modelAccounts is the handler.ModelDesk of a job.
type modelAccounts job

// Note journals a call.
func (a *modelAccounts) Note(data any, call handler.Usage) error {
	a.mu.Lock()
	settles := a.settling
	a.settling = ""
	a.mu.Unlock()
	return (*job)(a).note(&note{Data: data, Usage: &call, Settles: settles})
}

// Reserve keeps room in the run's budget, if it has one.
func (a *modelAccounts) Reserve(r handler.Reservation) (*handler.Reserved, error) {
	if !a.in.Budget {
		return handler.NewReserved(r.Output, func(handler.Usage) {}), nil
	}
	a.mu.Lock()
	a.rooms++
	id := strconv.Itoa(a.rooms)
	a.settling = id
	a.mu.Unlock()
	base, known := r.Cost(r.Input, 0)
	more, _ := r.Cost(r.Input, 1000)
	sent := &reservation{
		Task: a.in.ID, ID: id, Input: r.Input, Output: r.Output, Known: known, Base: base, Each: (more - base) / 1000,
	}
	var reply reserved
	if err := (*job)(a).update(a.ctx, updateReserve, sent, &reply); err != nil {
		return nil, err
	}
	if reply.Failure != nil {
		return nil, reply.Failure
	}
	return handler.NewReserved(reply.Output, func(handler.Usage) {}), nil
}

// Hide masks a text.
func (a *modelAccounts) Hide(secret string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.result.Hide = append(a.result.Hide, secret)
}

// Sleep waits.
func (a *modelAccounts) Sleep(ctx context.Context, d time.Duration) error {
	if a.tape.Playing() {
		return ctx.Err()
	}
	return pause(ctx, d)
}

// Now is the worker's time.
func (a *modelAccounts) Now() time.Time { return time.Now() }
