// Telling all that a run's drivers told, also what counts no more.

package runner

import "github.com/graphrun/graphrun/runner/machine"

// ReplayEvents tells the sink of opts what has happened in a run, from its beginning, as
// its drivers told it, also how it ended before it was taken up again. What a journal
// does not keep is not told: text and progress.
func (r *Runner) ReplayEvents(runID string, opts Options) (*Result, error) {
	rec, err := r.loadAt(runID, 0)
	if err != nil {
		return nil, err
	}
	d, err := rec.reader(opts)
	if err != nil {
		return nil, err
	}
	if err := d.replayAll(rec, -1); err != nil {
		return nil, err
	}
	return d.retold()
}

// replayAll tells of the events of a record that have not been read, up to a place in
// the journal (all when negative), those that count no more too: they were told when
// they happened.
func (d *driver) replayAll(rec *record, until int) error {
	for {
		events, err := rec.Next()
		if err != nil {
			return err
		}
		rec.hear()
		if len(events) == 0 {
			return d.tellLive(rec)
		}
		for i := range events {
			if err := d.tellLive(rec); err != nil {
				return err
			}
			if rec.Total == until {
				return nil
			}
			if undo := events[i].Undo; len(undo) > 0 {
				if err := d.takeBack(rec, undo); err != nil {
					return err
				}
			}
			rec.Total++
			if err := d.replayEvent(&events[i]); err != nil {
				return err
			}
		}
	}
}

// takeBack puts a driver that only tells where the next event of a record finds the
// run, which takes others back.
func (d *driver) takeBack(rec *record, undo []int) error {
	if err := d.tellPause(); err != nil {
		return err
	}
	place := rec.Total
	left, err := rec.TakeBack(undo)
	if err != nil {
		return err
	}
	back := &record{Reading: *left, run: rec.run, flow: rec.flow}
	opts := d.opts
	opts.Sink = nil
	there, err := back.replayed(opts, nil)
	if err != nil {
		return err
	}
	err = back.Each(func(e *machine.Event) (bool, error) {
		if back.Total > place {
			return false, nil
		}
		return true, there.replay(e)
	})
	if err != nil {
		return err
	}
	there.state.Explain, there.state.Watched = d.state.Explain, d.state.Watched
	d.state, d.path, d.before, d.history, d.mask = there.state, there.path, there.before, there.history, there.mask
	return nil
}
