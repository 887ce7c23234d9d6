// The place of a run in its group, as the run's workflow has it.

package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner/store"
)

// tryPlaceEvery is how often a run that goes on by itself and may not wait for a place
// asks for one.
const tryPlaceEvery = time.Minute

// seat is what a journal knows of the run's claim to a place, guarded by the journal.
type seat struct {
	claim   *claim        // nil: the run wants no place
	turn    *turn         // the latest; nil: the group has not said
	seen    bool          // by the driver
	err     error         // why there is no turn
	over    chan struct{} // of the driver that waits; nil: it does not
	request store.Request // that stops it
	outs    []claim       // that were given up
	ousts   []oust        // for others
}

// Enter waits until the group has said how it stands, and says so.
func (k keeper) Enter(group string, limit int) (out store.GroupState, err error) {
	j, s := k.journal, &k.seat
	j.mu.Lock()
	defer j.mu.Unlock()
	if s.claim == nil || s.claim.Group != group {
		s.claim, s.turn = &claim{Group: group, Limit: limit, RunID: j.record.ID, Graph: j.record.Graph}, nil
	}
	for s.turn == nil && s.err == nil && j.failed == nil {
		j.awaitGroup()
	}
	switch {
	case j.failed != nil:
		return out, j.failed
	case s.err != nil:
		return out, s.err
	}
	s.seen, out.Inside = true, s.turn.Inside
	for i := range s.turn.Holders {
		m := s.turn.Holders[i].GroupMember
		m.Since = m.Since.Local()
		out.Members = append(out.Members, m)
	}
	return out, nil
}

// AwaitTurn waits until the group has said something else, or somebody stops the run.
func (k keeper) AwaitTurn() store.Request {
	j, s := k.journal, &k.seat
	j.mu.Lock()
	defer j.mu.Unlock()
	for s.seen && s.request == "" && j.failed == nil {
		j.awaitGroup()
	}
	request := s.request
	s.request = ""
	return request
}

// awaitGroup waits until the workflow has something for who drives the run. The journal
// is locked before and after.
func (j *journal) awaitGroup() {
	over := make(chan struct{})
	j.seat.over = over
	j.mu.Unlock()
	j.stage.Wait(over)
	j.mu.Lock()
}

// wakeDriver wakes who waits for the group; the journal is locked.
func (j *journal) wakeDriver() {
	if over := j.seat.over; over != nil {
		j.seat.over = nil
		j.stage.Wake(over)
	}
}

// Close gives the place back, but not that of a run that goes on elsewhere.
func (k keeper) Close() error {
	j, s := k.journal, &k.seat
	j.mu.Lock()
	defer j.mu.Unlock()
	if s.claim != nil && j.failed == nil {
		s.outs = append(s.outs, *s.claim)
		s.claim, s.turn, s.seen, s.request = nil, nil, false, ""
	}
	return nil
}

// Ask asks something of a run that is inside, for as long as it is.
func (j *journal) Ask(runID string, request store.Request) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if t := j.seat.turn; t != nil {
		for i := range t.Holders {
			if h := &t.Holders[i]; h.RunID == runID {
				j.seat.ousts = append(j.seat.ousts, oust{RunID: runID, Ticket: h.Ticket, Request: request})
				return nil
			}
		}
	}
	return store.ErrNoRun
}

// entering reports whether the run wants a place of which the group has not said anything.
func (j *journal) entering() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seat.claim != nil && j.seat.turn == nil && j.seat.err == nil
}

// stopWaiting stops a run that waits for its place; it reports whether it does.
func (j *journal) stopWaiting(request store.Request) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s := &j.seat; s.over == nil || s.turn == nil {
		return false
	}
	j.seat.request = request
	j.wakeDriver()
	return true
}

// turned takes how the group stands, unless that is known or of another claim.
func (j *journal) turned(t *turn, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &j.seat
	switch {
	case err != nil:
		s.err = err
	case s.claim == nil || s.claim.Ticket != t.Ticket || s.turn != nil && s.turn.Number >= t.Number:
		return
	default:
		s.turn, s.seen = t, false
	}
	j.wakeDriver()
}

// holds reports whether the run has a place by a ticket.
func (j *journal) holds(ticket string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &j.seat
	return s.claim != nil && s.claim.Ticket == ticket && s.turn != nil && s.turn.Inside
}

// usher is what the workflow of a run does for its place.
type usher struct {
	turns, ousts workflow.ReceiveChannel
	claims       int             // that were made
	entry        workflow.Future // of the latest, until it is known
	leaving      int             // signals to groups on their way
	late         []*mail         // that has to wait until it is known whether the run is inside
	resumed      *mail           // its reply says that
	alone        bool            // the run goes on by itself
	again        time.Time       // when it tries again that found no place; zero: it does not
	stopped      store.Request   // while it waited
	busy         *store.Waiting  // why the run is as it was; nil: it is not
}

// listen takes what comes from groups and from other runs.
func (u *usher) listen(ctx workflow.Context) {
	u.turns, u.ousts = workflow.GetSignalChannel(ctx, signalTurn), workflow.GetSignalChannel(ctx, signalOust)
}

// collect looks for what has come.
func (u *usher) collect(ctx workflow.Context) (out []*mail) {
	if u.entry != nil && u.entry.IsReady() {
		m := &mail{turn: &turn{}}
		m.wrong = u.entry.Get(ctx, m.turn)
		u.entry, out = nil, append(out, m)
	}
	for t := new(turn); u.turns.ReceiveAsync(t); t = new(turn) {
		out = append(out, &mail{turn: t})
	}
	for o := new(oust); u.ousts.ReceiveAsync(o); o = new(oust) {
		out = append(out, &mail{oust: o})
	}
	return out
}

// idle reports whether nothing is on its way.
func (u *usher) idle() bool { return u.entry == nil && u.leaving == 0 && len(u.late) == 0 }

// claimPlace brings the claim of the run before its group, if it has a new one, and asks
// of others what it wants of them.
func (f *flight) claimPlace() {
	j, start, info := f.host.store, f.host.start, workflow.GetInfo(f.ctx)
	j.mu.Lock()
	c, ousts := j.seat.claim, j.seat.ousts
	j.seat.ousts = nil
	j.mu.Unlock()
	for _, one := range ousts {
		workflow.SignalExternalWorkflow(f.ctx, one.RunID, "", signalOust, one) // one that is gone has left its place
	}
	if c == nil || c.Ticket != "" {
		return
	}
	f.place.claims++
	j.mu.Lock()
	c.Ticket, c.Chain, c.Owner = fmt.Sprintf("%s/%d", info.OriginalRunID, f.place.claims), info.FirstRunID, ownerOf(start.Queue)
	sent := *c
	j.mu.Unlock()
	ctx := workflow.WithActivityOptions(f.ctx, workflow.ActivityOptions{
		TaskQueue: ofCore(start.Queue, start.Core), StartToCloseTimeout: time.Minute, Summary: "group " + c.Group,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, MaximumInterval: 30 * time.Second},
	})
	f.place.entry = workflow.ExecuteActivity(ctx, enterName, start.Queue, sent)
}

// leavePlace tells the group of places that were given up, when no claim is on its way
// there.
func (f *flight) leavePlace() {
	if f.place.entry != nil {
		return
	}
	j := f.host.store
	j.mu.Lock()
	outs := j.seat.outs
	j.seat.outs = nil
	j.mu.Unlock()
	for _, out := range outs {
		f.place.leaving++
		sent := workflow.SignalExternalWorkflow(f.ctx, groupID(out.Group), "", signalOut, out.Ticket)
		workflow.Go(f.ctx, func(ctx workflow.Context) {
			_ = sent.Get(ctx, nil) // a group that is gone has no places
			f.place.leaving--
		})
	}
}

// left waits until the group knows that the run has left.
func (f *flight) left() {
	for f.leavePlace(); f.place.entry != nil || f.place.leaving > 0; f.leavePlace() {
		f.await(func() bool {
			f.inbox = append(f.inbox, f.place.collect(f.ctx)...)
			return f.place.entry == nil && f.place.leaving == 0
		})
	}
}

// turned takes how the group stands, and what has waited for that.
func (f *flight) turned(m *mail) {
	f.host.store.turned(m.turn, m.wrong)
	if f.host.store.entering() {
		return
	}
	f.inbox, f.place.late = slices.Concat(f.place.late, f.inbox), nil
	if r := f.place.resumed; r != nil {
		f.place.resumed = nil
		f.replyResumed(r)
	}
}

// replyResumed says what came of taking the run up, once it is known whether it is inside.
func (f *flight) replyResumed(m *mail) {
	h := f.host
	_, done := h.stage.Settle(workflow.Now(f.ctx))
	if !done && h.store.entering() {
		f.place.resumed = m
		return
	}
	if busy := (*store.BusyError)(nil); done && errors.As(h.err, &busy) {
		m.busy, h.tape = &busy.Waiting, m.tape
	} else if done && h.err != nil {
		m.refused, h.tape = problemsOf(h.err), m.tape
	}
	m.over = true
}

// noPlace keeps what a drive came to that may have found no place. A run that went on by
// itself tries again.
func (f *flight) noPlace(err error) {
	f.place.busy, f.place.again = nil, time.Time{}
	if busy := (*store.BusyError)(nil); errors.As(err, &busy) {
		f.place.busy = &busy.Waiting
		if f.place.alone {
			f.place.again = workflow.Now(f.ctx).Add(tryPlaceEvery)
		}
	}
}

// stillOutside lets a run that waits for its place wait on in another workflow.
func (f *flight) stillOutside(next *Start) {
	j := f.host.store
	j.mu.Lock()
	defer j.mu.Unlock()
	if t := j.seat.turn; t == nil || t.Inside {
		return
	}
	dir := next.Settings.Dir
	next.Settings = *f.settings
	next.Settings.Dir = dir
	if before := f.host.start.Seed; before != nil && !j.noted {
		next.Seed.Stood, next.Seed.Fork = before.Stood, before.Fork
		return
	}
	stood := j.standing
	next.Seed.Stood = &stood
}

// Kinds of errors of workflows that keep nothing.
const (
	refusedKind = "refused" // what the run was given does not fit
	busyKind    = "busy"    // its details are a store.Waiting
	stoppedKind = "stopped" // while it waited for a place
)

// comesToNothing reports whether nothing is kept of the run: it has not begun. A fork
// that has, on paper, and was stopped while it waited, is kept as any run is.
func (f *flight) comesToNothing() bool {
	h := f.host
	if h.err == nil {
		return false
	}
	busy, stopped := (*store.BusyError)(nil), errors.Is(h.err, store.ErrStopped)
	switch {
	case h.start.Seed == nil:
		return f.told.Status == ""
	case h.start.Before != nil:
		return f.told.Status == "" && !stopped && !errors.As(h.err, &busy)
	}
	held := h.result != nil && h.result.Reason == "concurrency"
	return h.start.Seed.Fork && !h.store.noted && !(held && stopped)
}

// refuse ends the workflow of a run of which nothing is kept.
func (f *flight) refuse() error {
	err := f.host.err
	busy := (*store.BusyError)(nil)
	switch {
	case errors.As(err, &busy):
		err = turnedAway(err.Error(), busyKind, err, &busy.Waiting)
	case errors.Is(err, store.ErrStopped):
		err = turnedAway(err.Error(), stoppedKind, err)
	default:
		return temporal.NewNonRetryableApplicationError(err.Error(), refusedKind, err)
	}
	void := standingOf(&f.host.start.Record, nil)
	void.Void = true
	if err := workflow.UpsertMemo(f.ctx, map[string]any{memoStatus: void}); err != nil {
		return err
	}
	f.left()
	return err
}

// turnedAway is the error of a run that found no place.
func turnedAway(text, kind string, cause error, details ...any) error {
	return temporal.NewNonRetryableApplicationError(text, kind, cause, details...)
}
