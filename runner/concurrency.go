// Groups of runs, which share a limited number of slots (GraphSpec §2, concurrency).

package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// groupPoll is how often a waiting run asks for its slot.
const groupPoll = 200 * time.Millisecond

// groupSlot is a run's claim to a slot in its group. Without a group, its fields are empty.
type groupSlot struct {
	group      string
	limit      int
	onBusy     string
	journal    store.Journal
	cancelling string // id of the run that was asked to cancel
	reported   []store.GroupMember
}

func (d *driver) newGroupSlot(group string, journal store.Journal) *groupSlot {
	c := d.flow.tree.Graph.Concurrency
	if c == nil || journal == nil {
		return &groupSlot{}
	}
	return &groupSlot{group: group, limit: c.Limit, onBusy: c.OnBusy, journal: journal}
}

// requestSlot asks for the slot. waiting is nil if the run has it.
func (s *groupSlot) requestSlot() (waiting *store.Waiting, err error) {
	if s.group == "" {
		return nil, nil
	}
	state, err := s.journal.EnterGroup(s.group, s.limit)
	if err != nil || state.Inside {
		return nil, err
	}
	return &store.Waiting{Group: s.group, Limit: s.limit, Members: state.Members}, nil
}

// awaitSlot waits for the slot. If a request stops the run, it returns the request and
// store.ErrStopped.
func (s *groupSlot) awaitSlot(ctx context.Context, d *driver) (request store.Request, err error) {
	for {
		waiting, err := s.requestSlot()
		if err != nil || waiting == nil {
			return "", err
		}
		if s.onBusy == "fail" {
			return "", &store.BusyError{RunID: d.opts.RunID, Waiting: *waiting}
		}
		if s.onBusy == "cancel_oldest" && len(waiting.Members) > 0 && waiting.Members[0].RunID != s.cancelling {
			oldest := waiting.Members[0].RunID
			why := fmt.Sprintf("run %q takes its place in group %q (concurrency.on_busy: cancel_oldest)", d.opts.RunID, d.mask.MaskText(s.group))
			if err := d.flow.runner.cfg.Store.SendRequest(oldest, store.NewCancelRequest(why)); err != nil && !errors.Is(err, store.ErrNoRun) {
				return "", err
			}
			s.cancelling = oldest
		}
		s.emitWaiting(d, waiting)
		if request := s.awaitPoll(ctx); request != "" {
			return request, store.ErrStopped
		}
	}
}

// awaitPoll waits before the run asks again. It returns a request that stops the run, or "".
func (s *groupSlot) awaitPoll(ctx context.Context) (request store.Request) {
	if journal, ok := s.journal.(store.TurnJournal); ok {
		return journal.AwaitTurn()
	}
	select {
	case <-ctx.Done():
		return store.RequestCancel
	case request := <-s.journal.Requests():
		return request
	case <-time.After(groupPoll):
		return ""
	}
}

// emitWaiting emits which runs hold the slots, if they have changed.
func (s *groupSlot) emitWaiting(d *driver, waiting *store.Waiting) {
	same := func(a, b store.GroupMember) bool { return a.RunID == b.RunID }
	if len(waiting.Members) == 0 || slices.EqualFunc(s.reported, waiting.Members, same) {
		return // without members, a run that queued earlier is next
	}
	s.reported = slices.Clone(waiting.Members)
	waiting.Cancelling = s.cancelling
	d.event = Event{Type: RunWaiting, Time: time.Unix(0, d.now()), Waiting: waiting, live: true}
	d.emitEvent()
}

// beginRun drives a new run from its first event. A run with a group is stored as held before it asks
// for its slot.
func (d *driver) beginRun(ctx context.Context, run store.RunRecord, began *machine.Event) (*Result, error) {
	group, err := d.plan.Group(began)
	if err != nil {
		return nil, &InputError{Problems: []string{"concurrency.group: " + d.mask.MaskText(err.Error())}}
	}
	began.Run.Held = group != "" && d.flow.runner.cfg.Store != nil
	if err := d.createJournal(run, *began); err != nil {
		return nil, err
	}
	d.saved.fresh = true
	d.emitStarted(began.Input, began.Run.MaxSteps)
	if !began.Run.Held {
		return d.finishRun(ctx, began)
	}
	slot := d.newGroupSlot(group, d.journal)
	waiting, err := slot.requestSlot()
	if err == nil && waiting != nil && slot.onBusy == "fail" {
		return d.rejectBusy(&store.BusyError{RunID: d.opts.RunID, Waiting: *waiting})
	}
	if err == nil {
		_, _, err = d.applyFirst(began)
	}
	var request store.Request
	if err == nil && waiting != nil {
		request, err = d.awaitFirstSlot(ctx, slot)
	}
	stops := requestEvent(request, d.now())
	switch {
	case errors.Is(err, store.ErrStopped) && stops.Kind == machine.CancelAsked:
		return d.finishRun(ctx, &stops)
	case errors.Is(err, store.ErrStopped):
		return d.leavePaused()
	case err != nil:
		return nil, errors.Join(err, d.closeJournal(nil))
	}
	return d.finishRun(ctx, &machine.Event{Kind: machine.Admitted, At: d.now()})
}

// awaitFirstSlot waits for the slot of a new run. A request stops it with store.ErrStopped.
func (d *driver) awaitFirstSlot(ctx context.Context, slot *groupSlot) (request store.Request, err error) {
	err = d.journal.SaveSummary(store.RunSummary{Status: d.state.Status, Reason: d.state.Reason, Updated: d.clock.Now()})
	if err == nil {
		request, err = slot.awaitSlot(ctx, d)
	}
	if err == nil {
		err = d.journal.SaveSummary(store.RunSummary{Status: machine.Running, Updated: d.clock.Now()})
	}
	return request, err
}

// rejectBusy fails a run that does not wait for its busy group, and deletes it from the store.
func (d *driver) rejectBusy(busy *store.BusyError) (*Result, error) {
	defer d.scope.Close()
	defer d.stopPendingWork()
	result := d.newResult()
	if err := errors.Join(d.closeJournal(nil), d.flow.runner.cfg.Store.Delete(d.opts.RunID)); err != nil {
		return nil, errors.Join(busy, err)
	}
	result.Status, result.Reason, result.Quality = machine.Failed, "concurrency", "failed"
	result.Error = &Failure{Kind: "failed", Message: busy.Error()}
	d.emitFinished(result, d.now())
	return result, errors.Join(busy, d.sinkErr)
}

// leavePaused returns the result of a run that stays paused.
func (d *driver) leavePaused() (*Result, error) {
	defer d.scope.Close()
	defer d.stopPendingWork()
	result := d.newResult()
	if err := d.closeJournal(result); err != nil {
		return nil, err
	}
	d.emitFinished(result, d.now())
	return result, d.sinkErr
}

// awaitSlot waits for the slot of a resumed run. If the run is stopped meanwhile, it does not change.
func (d *driver) awaitSlot(ctx context.Context, journal store.Journal) error {
	_, err := d.newGroupSlot(d.state.Group, journal).awaitSlot(ctx, d)
	if errors.Is(err, store.ErrStopped) {
		return fmt.Errorf("run %q was not resumed: %w", d.opts.RunID, err)
	}
	return err
}
