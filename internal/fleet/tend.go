// Runs that go on without anybody asking: those that an earlier process left, those
// whose time has come, and those that somebody has answered.

package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

const pausedStatus = machine.Paused

// tendEvery is how often runs are looked at that nobody drives.
const tendEvery = time.Second

// Tend takes up what earlier processes of this home left, and then looks after the
// runs of this fleet that wait, until ctx ends.
func (f *Fleet) Tend(ctx context.Context) error {
	left, err := f.marks.all()
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		f.recover(id, left[id])
	}
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := f.tend(); err != nil {
				f.cfg.Log("looking after runs that wait: " + err.Error())
			}
		}
	}
}

// recover takes up a run that an earlier process left, unless it only waits.
func (f *Fleet) recover(id, how string) {
	if f.Driven(id) != nil { // it has been started since
		return
	}
	lines, err := f.cfg.Store.List(store.RunFilter{ID: id})
	if err != nil {
		f.cfg.Log(fmt.Sprintf("run %s can't be looked at: %v", id, err))
		return
	}
	if len(lines) == 0 {
		f.marks.remove(id)
		return
	}
	switch stands := lines[0].StandsAs(); {
	case stands == store.Crashed, how == stopped && (stands == machine.Paused || stands == machine.Cancelled):
		f.takeUp(id)
	case stands != machine.Paused && stands != machine.Running:
		f.marks.remove(id)
	}
}

// takeUp goes on with a run of this fleet.
func (f *Fleet) takeUp(id string) {
	_, err := f.Resume(id, runner.Options{})
	var driven *store.DrivenError
	var full *FullError
	switch {
	case err == nil:
		f.cfg.Log("run " + id + " resumes")
	case errors.As(err, &driven), errors.As(err, &full), errors.Is(err, ErrClosing): // it is driven, or later
	default:
		f.marks.remove(id)
		f.cfg.Log(fmt.Sprintf("run %s can't go on: %v", id, err))
	}
}

// tend looks once.
func (f *Fleet) tend() error {
	own, err := f.marks.all()
	if err != nil || len(own) == 0 {
		return err
	}
	lines, err := f.cfg.Store.List(store.RunFilter{Status: []machine.Status{machine.Paused, machine.Running}})
	if err != nil {
		return err
	}
	now := f.cfg.Now()
	for i := range lines {
		line := &lines[i]
		how, ours := own[line.ID]
		if !ours || line.Owner != "" || f.Driven(line.ID) != nil {
			continue
		}
		due := !line.Due.IsZero() && !line.Due.After(now)
		if line.StandsAs() == store.Crashed || due || how == stopped || f.answered(line) {
			f.takeUp(line.ID)
		}
	}
	return nil
}

// answered reports whether somebody has answered all that a paused run asks.
func (f *Fleet) answered(line *store.RunSummary) bool {
	f.mu.Lock()
	before, known := f.seen[line.ID]
	f.seen[line.ID] = line.Updated
	f.mu.Unlock()
	if known && before.Equal(line.Updated) || line.Reason != "human" {
		return false
	}
	result, err := f.cfg.Runner.Show(line.ID, runner.Options{})
	return err == nil && result.Status == machine.Paused && len(result.Pending) == 0
}

// errStopping is why runs are cancelled whose nodes do not end in time.
var errStopping = errors.New("the server is stopping")

// Stop takes no new work and ends the drives. Runs pause when what runs of them has
// ended; what has not within grace is cancelled, and given as long to end as Ctrl-C
// gives it. All is journaled, and the next process of this home goes on with it.
func (f *Fleet) Stop(grace time.Duration) {
	f.mu.Lock()
	f.closing = true
	left := slices.Collect(maps.Values(f.drives))
	f.mu.Unlock()
	for _, d := range left {
		if _, err := f.marks.set(d.ID, stopped); err != nil {
			f.cfg.Log(fmt.Sprintf("run %s will not be taken up: %v", d.ID, err))
		}
		_ = f.cfg.Store.Ask(d.ID, store.RequestPause) // else it is cancelled
	}
	over := time.After(grace)
	for _, d := range left {
		select {
		case <-d.Done:
		case <-over:
			for _, d := range left {
				d.cancel(errStopping)
			}
			<-d.Done
		}
	}
	for _, d := range left {
		if d.Err == nil && d.Result.Status != machine.Paused && d.Result.Status != machine.Cancelled {
			f.marks.remove(d.ID)
		}
	}
}
