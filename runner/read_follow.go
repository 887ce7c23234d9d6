// Following a run that another process drives.

package runner

import (
	"context"
	"errors"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// followPoll is the time between looks at the journal of a run that is followed.
const followPoll = 200 * time.Millisecond

// Follow passes past and future events of a run to the sink until the run or ctx ends. It waits
// for a paused run and for one without a driver.
func (r *Runner) Follow(ctx context.Context, runID string, opts Options) (*Result, error) {
	d, rec, err := r.reader(runID, 0, opts)
	if err != nil {
		return nil, err
	}
	d.state.Explain = true
	return d.followRecord(ctx, rec, func(*Result) (bool, error) { return d.state.Ended(), nil })
}

// Attend is Follow until enough returns true. enough gets each result of a run that ended, pauses
// or has questions. The sink also receives live events (LiveStore), but no events before number
// from.
func (r *Runner) Attend(ctx context.Context, runID string, from int, opts Options, enough func(*Result) (bool, error)) (*Result, error) {
	d, rec, err := r.reader(runID, from, opts)
	if err != nil {
		return nil, err
	}
	rec.live, _ = r.cfg.Store.(LiveStore)
	d.attends = true
	return d.followRecord(ctx, rec, enough)
}

// reader returns a driver that has read the first events of a run without a sink.
func (r *Runner) reader(runID string, from int, opts Options) (*driver, *record, error) {
	rec, err := r.findRecord(runID)
	if err != nil {
		return nil, nil, err
	}
	sink := opts.Sink
	if opts.looks = true; from > 0 {
		opts.Sink = nil
	}
	d, err := rec.newDriver(opts)
	if err != nil || from == 0 {
		return d, rec, err
	}
	err = rec.eachEvent(func(e *machine.Event) (bool, error) {
		err := d.replayEvent(e)
		return rec.total < from, err
	})
	d.opts.Sink, d.pauseTold = sink, d.state.Status == machine.Paused
	d.updateWatched()
	return d, rec, err
}

// followRecord replays new events until enough returns true.
func (d *driver) followRecord(ctx context.Context, rec *record, enough func(*Result) (bool, error)) (*Result, error) {
	for {
		if err := d.replayNew(rec); err != nil {
			return nil, err
		}
		if d.state.Ended() || d.state.Status == machine.Paused || len(d.state.Questions()) > 0 {
			if stop, err := enough(d.recordedResult()); stop || err != nil {
				d.attends = false
				return d.endReplay(), errors.Join(err, d.sinkErr)
			}
		}
		d.emitPause()
		if d.sinkErr != nil {
			return nil, d.sinkErr
		}
		if err := sleep(ctx, d.flow.runner.cfg.Clock, followPoll); err != nil {
			return nil, err
		}
	}
}

// replayNew replays the events that the record has got since the last call.
func (d *driver) replayNew(rec *record) error {
	for {
		events, err := rec.readEvents()
		if err != nil {
			return err
		}
		if rec.live != nil {
			rec.heard = append(rec.heard, rec.live.Live(rec.run.ID)...)
		}
		if len(events) == 0 {
			return d.emitLive(rec)
		}
		for i := range events {
			if err := d.emitLive(rec); err != nil {
				return err
			}
			rec.total++
			if err := d.replayEvent(&events[i]); err != nil {
				return err
			}
		}
	}
}

// emitLive emits the live events from before the next event of the journal.
func (d *driver) emitLive(rec *record) error {
	for len(rec.heard) > 0 && rec.heard[0].After <= rec.total {
		d.event = rec.heard[0].Event
		d.event.live = true
		rec.heard = rec.heard[1:]
		d.seq = max(d.seq, d.event.Seq-1)
		d.emit()
	}
	return d.sinkErr
}
