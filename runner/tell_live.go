// What the driver of a run tells live, for those who attend it elsewhere.

package runner

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
