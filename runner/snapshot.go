// Snapshots of runs: how many steps a run has taken decides neither what is
// written nor how long it takes to open it.

package runner

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// leastTail is the usual Runner.leastTail: for a small state another snapshot
// would save less than it costs.
const leastTail = 64 << 10

// snapshot is a state that has been read from a store. The zero snapshot is the
// beginning of a run.
type snapshot struct {
	head   snapshotHead
	events int
	state  []byte
	fresh  *machine.State // the state, unless somebody has it already
}

// snapshotHead is what a driver keeps besides the machine's state; it stands in
// the first line.
type snapshotHead struct {
	Started int64 `json:"started"` // Unix nanoseconds
	Last    int64 `json:"last"`    // when the last event happened
	Steps   int   `json:"steps"`   // in the path
	// Told is the number of the last event that was told; of a subgraph 0.
	Told int64 `json:"told,omitempty"`
	// Hidden are the texts that secret keys have had.
	Hidden []string `json:"hidden,omitempty"`
}

// saving is when a driver writes the next snapshot.
type saving struct {
	events int // in the journal
	base   int // events that the last snapshot stands for
	steps  int // of the driver's path that are in a snapshot
	// from is how many bytes of events there are to be before the state is
	// written; stale, that it is written at once.
	from  int
	stale bool
	// first is the size of the first event, if the journal begins with it: it
	// holds the input, and is as good as a snapshot. fresh: it is not known yet.
	first int
	fresh bool
}

// keepSnapshot writes the state when the events since the last time take more
// bytes than it does. Whether they do shows when it is written: a larger state
// is given up, and tried again when there are a quarter more events.
func (d *driver) keepSnapshot() error {
	if d.durable > 0 {
		return nil
	}
	limit := d.journal.Journaled()
	if d.saved.fresh {
		d.saved.first, d.saved.fresh = limit, false
	}
	limit -= d.saved.first
	if limit < max(d.saved.from, d.flow.runner.leastTail) && !d.saved.stale {
		return nil
	}
	if d.nested != nil && d.state.Ending() {
		return nil // what comes before a snapshot of a subgraph is forgotten
	}
	if d.saved.stale {
		limit = math.MaxInt
	}
	text, err := json.Marshal(snapshotHead{
		Started: d.started.UnixNano(), Last: d.state.Now(), Steps: d.steps(), Told: d.lastNumber(), Hidden: d.mask.Learned,
	})
	if err != nil {
		return err
	}
	text, fits, err := d.state.AppendSnapshot(append(text, '\n'), limit-len(text))
	if err != nil {
		return err
	}
	d.saved.stale = false
	if !fits {
		d.saved.from = limit + limit/4
		return nil
	}
	if err := d.journal.Snapshot(store.Snapshot{State: text, Base: d.saved.base, Path: packPath(d.path[d.saved.steps:])}); err != nil {
		return d.journalFailed(err)
	}
	d.saved = saving{events: d.saved.events, base: d.saved.events, steps: len(d.path), from: len(text)}
	return nil
}

// packPath writes nodes by their index.
func packPath(path []int32) []byte {
	out := make([]byte, 0, len(path)+len(path)/8)
	for _, node := range path {
		out = binary.AppendUvarint(out, uint64(node))
	}
	return out
}

func unpackPath(text []byte) ([]int32, error) {
	path := make([]int32, 0, len(text))
	for len(text) > 0 {
		node, n := binary.Uvarint(text)
		if n <= 0 {
			return nil, errors.New("the path of a snapshot is damaged")
		}
		path, text = append(path, int32(node)), text[n:]
	}
	return path, nil
}

// readSnapshot takes a snapshot of a store apart. A state that this program
// can't read is an error: the events before it are still there.
func readSnapshot(s store.Snapshot, plan *machine.Plan) (snapshot, error) {
	head, state, _ := bytes.Cut(s.State, []byte("\n"))
	out := snapshot{events: s.Events, state: state}
	if err := json.Unmarshal(head, &out.head); err != nil {
		return out, fmt.Errorf("snapshot can't be read: %w", err)
	}
	var err error
	out.fresh, err = plan.Restore(state)
	return out, err
}

// restore is the machine's state of a snapshot.
func (s *snapshot) restore(plan *machine.Plan) (*machine.State, error) {
	switch fresh := s.fresh; {
	case s.events == 0:
		return plan.NewState(), nil
	case fresh != nil:
		s.fresh = nil
		return fresh, nil
	}
	return plan.Restore(s.state)
}

// startFrom puts a driver into the state that a record begins with.
func (d *driver) startFrom(rec *record) (err error) {
	d.saved = saving{events: rec.total, base: rec.from.events, stale: rec.stale}
	d.before = snapshot{head: rec.from.head, events: rec.from.events}
	if rec.from.events == 0 {
		return nil
	}
	d.state, err = rec.from.restore(d.plan)
	if err != nil {
		return err
	}
	d.watch()
	d.seq = rec.from.head.Told
	d.started, d.last = time.Unix(0, rec.from.head.Started), rec.from.head.Last
	d.time.NotBefore(d.last)
	for _, text := range rec.from.head.Hidden {
		d.mask.LearnValue(text)
	}
	return nil
}

// wholeResult is the run as it stands, with the path from its beginning.
func (d *driver) wholeResult() (*Result, error) {
	if d.before.head.Steps > 0 {
		text, err := d.flow.runner.cfg.Store.Path(d.opts.RunID, d.before.events)
		if err != nil {
			return nil, err
		}
		path, err := unpackPath(text)
		if err != nil {
			return nil, err
		}
		if len(path) != d.before.head.Steps {
			return nil, fmt.Errorf("run %q: its snapshot has taken %d steps, the path to it has %d", d.opts.RunID, d.before.head.Steps, len(path))
		}
		d.path = append(path, d.path...)
		d.before.head.Steps = 0
	}
	result := d.result()
	return result, d.addPending(result)
}
