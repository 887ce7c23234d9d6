// Groups of runs: how many of them run at once (GraphSpec §2, concurrency).

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

// groupPoll is how often a run that waits asks for its place.
const groupPoll = 200 * time.Millisecond

// seat is a run's claim to a place in its group. The zero value is that of a run in
// none.
type seat struct {
	group   string
	limit   int
	onBusy  string
	journal store.Journal
	asked   string // to cancel
	told    []store.GroupMember
}

// seatIn is a claim to a place in a group.
func (d *driver) seatIn(group string, journal store.Journal) *seat {
	c := d.flow.tree.Graph.Concurrency
	if c == nil || journal == nil {
		return &seat{}
	}
	return &seat{group: group, limit: c.Limit, onBusy: c.OnBusy, journal: journal}
}

// enter asks for the place; waiting is nil when the run is inside.
func (s *seat) enter() (waiting *store.Waiting, err error) {
	if s.group == "" {
		return nil, nil
	}
	state, err := s.journal.Enter(s.group, s.limit)
	if err != nil || state.Inside {
		return nil, err
	}
	return &store.Waiting{Group: s.group, Limit: s.limit, Members: state.Members}, nil
}

// wait waits for the place. The error is store.ErrStopped when somebody stopped the run
// meanwhile, by ctx or through the store; request is what they asked for.
func (s *seat) wait(ctx context.Context, d *driver) (request store.Request, err error) {
	for {
		waiting, err := s.enter()
		if err != nil || waiting == nil {
			return "", err
		}
		if s.onBusy == "fail" {
			return "", &store.BusyError{RunID: d.opts.RunID, Waiting: *waiting}
		}
		if s.onBusy == "cancel_oldest" && len(waiting.Members) > 0 && waiting.Members[0].RunID != s.asked {
			oldest := waiting.Members[0].RunID
			why := fmt.Sprintf("run %q takes its place in group %q (concurrency.on_busy: cancel_oldest)", d.opts.RunID, d.mask.Text(s.group))
			if err := d.flow.runner.cfg.Store.Ask(oldest, store.CancelBecause(why)); err != nil && !errors.Is(err, store.ErrNoRun) {
				return "", err
			}
			s.asked = oldest
		}
		s.tell(d, waiting)
		if request := s.pause(ctx); request != "" {
			return request, store.ErrStopped
		}
	}
}

// pause lets some time pass before the run asks again, unless somebody stops it: the
// request is what they asked for.
func (s *seat) pause(ctx context.Context) (request store.Request) {
	if journal, ok := s.journal.(store.TurnJournal); ok {
		return journal.AwaitTurn()
	}
	select {
	case <-ctx.Done():
		return store.RequestCancel
	case request := <-s.journal.Asked():
		return request
	case <-time.After(groupPoll):
		return ""
	}
}

// tell tells who is waited for, when that is news.
func (s *seat) tell(d *driver, waiting *store.Waiting) {
	same := func(a, b store.GroupMember) bool { return a.RunID == b.RunID }
	if len(waiting.Members) == 0 || slices.EqualFunc(s.told, waiting.Members, same) {
		return // without members it is the turn of one that came before
	}
	s.told = slices.Clone(waiting.Members)
	waiting.Cancelling = s.asked
	d.event = Event{Type: RunWaiting, Time: time.Unix(0, d.now()), Waiting: waiting, live: true}
	d.emit()
}

// begin drives a new run from its first event. One in a group has not begun before
// it is inside; or when it finds the group busy and waits, so that a crash then loses
// nothing.
func (d *driver) begin(ctx context.Context, run store.RunRecord, began *machine.Event) (*Result, error) {
	group, err := d.plan.Group(began)
	if err != nil {
		return nil, &InputError{Problems: []string{"concurrency.group: " + d.mask.Text(err.Error())}}
	}
	var first []machine.Event
	if group == "" {
		first = []machine.Event{*began}
	}
	if err := d.create(run, nil, first); err != nil {
		return nil, err
	}
	d.saved.fresh = true
	d.announce(began.Input, began.Run.MaxSteps)
	seat := d.seatIn(group, d.journal)
	waiting, err := seat.enter()
	switch {
	case err != nil:
		return nil, errors.Join(err, d.closeJournal(nil))
	case waiting == nil:
		return d.finishRun(ctx, began)
	case seat.onBusy == "fail":
		return d.turnedAway(&store.BusyError{RunID: d.opts.RunID, Waiting: *waiting})
	}
	began.Run.Held = true
	if _, _, err := d.apply(began); err != nil {
		return nil, errors.Join(err, d.closeJournal(nil))
	}
	err = d.journal.Note(store.RunSummary{Status: d.state.Status, Reason: d.state.Reason, Updated: d.clock.Now()})
	if err != nil {
		return nil, errors.Join(err, d.closeJournal(nil))
	}
	request, err := seat.wait(ctx, d)
	at := d.now()
	stops := requested(request, at)
	switch {
	case errors.Is(err, store.ErrStopped) && stops.Kind == machine.CancelAsked:
		return d.finishRun(ctx, &stops)
	case errors.Is(err, store.ErrStopped):
		return d.leftOff()
	case err != nil:
		return nil, errors.Join(err, d.closeJournal(nil))
	}
	if err := d.journal.Note(store.RunSummary{Status: machine.Running, Updated: d.clock.Now()}); err != nil {
		return nil, errors.Join(err, d.closeJournal(nil))
	}
	return d.finishRun(ctx, &machine.Event{Kind: machine.Resumed, At: at, Run: d.opts.info(d.opts.RunID)})
}

// turnedAway is the end of a run that found its group busy and does not wait: it is told
// like any other, and nothing of it is kept.
func (d *driver) turnedAway(busy *store.BusyError) (*Result, error) {
	defer d.scope.Close()
	defer d.stop()
	result := d.result()
	if err := errors.Join(d.closeJournal(nil), d.flow.runner.cfg.Store.Delete(d.opts.RunID)); err != nil {
		return nil, errors.Join(busy, err)
	}
	result.Status, result.Reason, result.Quality = machine.Failed, "concurrency", "failed"
	result.Error = &Failure{Kind: "failed", Message: busy.Error()}
	d.conclude(result, d.now())
	return result, errors.Join(busy, d.sinkErr)
}

// leftOff ends the driving of a run that stays paused.
func (d *driver) leftOff() (*Result, error) {
	defer d.scope.Close()
	defer d.stop()
	result := d.result()
	if err := d.closeJournal(result); err != nil {
		return nil, err
	}
	d.conclude(result, d.now())
	return result, d.sinkErr
}

// reenter waits for the place of a run that is taken up. One that is stopped
// meanwhile stays as it was.
func (d *driver) reenter(ctx context.Context, journal store.Journal) error {
	_, err := d.seatIn(d.state.Group, journal).wait(ctx, d)
	if errors.Is(err, store.ErrStopped) {
		return fmt.Errorf("run %q was not resumed: %w", d.opts.RunID, err)
	}
	return err
}
