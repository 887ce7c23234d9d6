// The numbers of a run's events, which go on over all its drivers.

package runner

import (
	"errors"

	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/machine"
)

// lostNumbers is the gap that a crash leaves in the numbers: nobody knows how
// much the driver told after the last event that it made durable.
const lostNumbers = 1_000_000

// errBegunBefore says that the record of a subgraph begins before the snapshot that
// a run is told from.
var errBegunBefore = errors.New("a subgraph began before the snapshot")

// countUntold counts what nobody is told of, as if somebody were: a later driver,
// and whoever reads the journal, give the same numbers.
func (d *driver) countUntold() {
	told := int64(0)
	for _, n := range d.state.Notes() {
		for _, logged := range n.Inside {
			children, _ := d.readChildrenOf(logged.Task, logged.Log)
			for _, child := range children {
				child.tellActive(&n, 0, func(*Event) { told++ })
			}
		}
		told++
		if n.Kind == machine.NoteSuperstepCompleted && d.checkpoints {
			told++
		}
	}
	d.outermost().untold.Add(told)
}

// lastNumber is the number of the last event.
func (d *driver) lastNumber() int64 { return d.seq + d.untold.Load() }

// goOnFromNumber lets the numbers go on from at least n.
func (d *driver) goOnFromNumber(n int64) { d.seq = max(d.seq, n-d.untold.Load()) }

// number writes into an event that is about to be durable which number the events
// have come to, where its journal does not tell: text and progress were told live.
func (d *driver) number(event *machine.Event) {
	if d.ahead {
		event.Told, d.ahead = d.lastNumber(), false
	}
}

// countsLatest reports whether a record is only told to count its events, from a
// snapshot on.
func (d *driver) countsLatest() bool { return d.outermost().opts.Sink == silent{latest: true} }

// silent is a sink for those who only count; latest: from a snapshot on.
type silent struct{ latest bool }

// Event does nothing.
func (silent) Event(*Event) error { return nil }

// toldBefore is the number of the last event that a run's drivers have told, its end
// or pause included.
func (rec *record) toldBefore() (int64, error) {
	d, err := rec.toldToNobody(-1)
	if err != nil {
		return 0, err
	}
	n := d.lastNumber()
	switch {
	case d.state.Status == machine.Paused:
		return n + 2, nil // that it pauses, and the result
	case d.state.Ended():
		return n + 1, nil
	}
	return n + lostNumbers, nil
}

// toldToNobody is a driver that has told of all events of a run up to a place in its
// journal, all when negative: from the snapshot of a record on, if that says what had
// been told.
func (rec *record) toldToNobody(until int) (*driver, error) {
	from := rec.From
	if from.Head.Told == 0 {
		from = journal.Snapshot{}
	}
	d, err := rec.tellNobody(from, until)
	if errors.Is(err, errBegunBefore) {
		d, err = rec.tellNobody(journal.Snapshot{}, until)
	}
	return d, err
}

func (rec *record) tellNobody(from journal.Snapshot, until int) (*driver, error) {
	again, err := rec.Again(from)
	if err != nil {
		return nil, err
	}
	own := &record{Reading: *again, run: rec.run, flow: rec.flow}
	d, err := own.reader(Options{Sink: silent{latest: from.Events > 0}})
	if err == nil {
		err = d.replayAll(own, until)
	}
	return d, err
}
