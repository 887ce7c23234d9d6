// What the driver of a run tells live, for those who attend it elsewhere.

package runner

// LiveStore is a store that has, of runs that others drive, also what their drivers
// told and no journal tells: text, progress, warnings, and who a run waits for.
type LiveStore interface {
	// Live returns what was told live in a run since the last call, in order. It is
	// asked after Stretch.
	Live(runID string) []LiveEvent
}

// LiveEvent is an event that no journal tells.
type LiveEvent struct {
	// After is how many events the journal had when it was told.
	After int
	Event Event
}

// Live reports whether no journal tells the event.
func (e *Event) Live() bool { return e.live }

// hear takes what was told live.
func (rec *record) hear() {
	if rec.live != nil {
		rec.heard = append(rec.heard, rec.live.Live(rec.run.ID)...)
	}
}

// tellLive tells what was told live before the next event of the journal.
func (d *driver) tellLive(rec *record) error {
	for len(rec.heard) > 0 && rec.heard[0].After <= rec.Total {
		d.event = rec.heard[0].Event
		d.event.live = true
		rec.heard = rec.heard[1:]
		d.goOnFromNumber(d.event.Seq - 1)
		d.emit()
	}
	return d.sinkErr
}
