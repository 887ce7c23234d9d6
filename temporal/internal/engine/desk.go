// Accounts of the calls of models that a task makes apart from its driver.

package engine

import (
	"context"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/runner/handler"
)

// desk is the handler.ModelDesk of a job.
type desk job

// Note journals a call.
func (k *desk) Note(data any, call handler.Usage) error {
	k.mu.Lock()
	settles := k.settling
	k.settling = ""
	k.mu.Unlock()
	return (*job)(k).note(&note{Data: data, Usage: &call, Settles: settles})
}

// Reserve keeps room in the run's budget, if it has one.
func (k *desk) Reserve(r handler.Reservation) (*handler.Reserved, error) {
	if !k.in.Budget {
		return handler.NewReserved(r.Output, func(handler.Usage) {}), nil
	}
	k.mu.Lock()
	k.rooms++
	id := strconv.Itoa(k.rooms)
	k.settling = id
	k.mu.Unlock()
	base, known := r.Cost(r.Input, 0)
	more, _ := r.Cost(r.Input, 1000)
	sent := &reservation{
		Task: k.in.ID, ID: id, Input: r.Input, Output: r.Output, Known: known, Base: base, Each: (more - base) / 1000,
	}
	var reply reserved
	if err := (*job)(k).update(k.ctx, updateReserve, sent, &reply); err != nil {
		return nil, err
	}
	if reply.Failure != nil {
		return nil, reply.Failure
	}
	return handler.NewReserved(reply.Output, func(handler.Usage) {}), nil
}

// Hide masks a text.
func (k *desk) Hide(secret string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.result.Hide = append(k.result.Hide, secret)
}

// Sleep waits.
func (k *desk) Sleep(ctx context.Context, d time.Duration) error {
	if k.tape.Playing() {
		return ctx.Err()
	}
	return pause(ctx, d)
}

// Now is the worker's time.
func (k *desk) Now() time.Time { return time.Now() }
