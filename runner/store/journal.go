// The journal of a run, open for its driver.

package store

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

// journal implements Journal.
type journal struct {
	*inbox
	store   *KVStore
	release func() error
	stop    chan struct{}
	polling sync.WaitGroup
	events  string // prefix of the keys of events

	mu                 sync.Mutex // guards the fields below
	count              int        // events
	bytesSinceSnapshot int        // bytes of the events since the last snapshot
	failed             error
	closed             bool
}

// lockAndOpen locks a run and opens its journal. find returns or creates the run. driven returns the
// error for a run that already has a driver.
func (s *KVStore) lockAndOpen(runID, owner string, driven func() error, find func(tx Tx) (*savedRun, error)) (Journal, error) {
	release, err := s.storage().Lock(runID)
	if err != nil {
		return nil, err
	}
	if release == nil {
		return nil, driven()
	}
	j := &journal{inbox: newInbox(s.storage(), runID), store: s, release: release, stop: make(chan struct{})}
	err = s.storage().Update(func(tx Tx) error {
		run, err := find(tx)
		if err != nil {
			return err
		}
		run.Owner = owner
		if err := errors.Join(putRun(tx, run), clearDriver(tx, runID)); err != nil {
			return err
		}
		j.events = run.eventPrefix()
		j.count, j.bytesSinceSnapshot, err = measureJournal(tx, run)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, release())
	}
	s.open.Store(runID, j)
	j.Deliver()
	if s.Poll > 0 {
		j.polling.Go(func() { j.pollInbox(s.Poll) })
	}
	return j, nil
}

// Append adds events, all or none.
func (j *journal) Append(events ...machine.Event) error {
	_, err := j.appendIf(func(Tx) (bool, error) { return true, nil }, events)
	return err
}

// SettleOffer accepts or refuses an offer, in one transaction.
func (j *journal) SettleOffer(id string, events []machine.Event, refused string) (accepted bool, err error) {
	accepted, err = j.appendIf(func(tx Tx) (bool, error) { return settleOffer(tx, id, refused) }, events)
	j.Deliver() // the channel has room for waiting offers
	return accepted, err
}

// appendIf adds events, all or none, if the condition holds in their transaction.
func (j *journal) appendIf(condition func(tx Tx) (bool, error), events []machine.Event) (added bool, err error) {
	err = j.writeUnlessFailed(func() error {
		texts, err := EncodeEvents(events)
		if err != nil {
			return err
		}
		err = j.store.storage().Update(func(tx Tx) (err error) {
			if added, err = condition(tx); err == nil && added {
				err = appendEvents(tx, j.events, j.count, texts)
			}
			return err
		})
		if err != nil || !added {
			return err
		}
		j.count += len(texts)
		for _, text := range texts {
			j.bytesSinceSnapshot += len(text)
		}
		return nil
	})
	return added && err == nil, err
}

// Snapshot stores the state after the events so far.
func (j *journal) Snapshot(s Snapshot) error {
	return j.writeUnlessFailed(func() error {
		j.bytesSinceSnapshot = 0
		return j.store.storage().Update(func(tx Tx) error { return tx.Put(numberedKey(snapshotPrefix(j.runID), j.count), s.State) })
	})
}

// BytesSinceSnapshot returns the size of the events since the last snapshot.
func (j *journal) BytesSinceSnapshot() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.bytesSinceSnapshot
}

// SaveSummary updates the summary that List returns.
func (j *journal) SaveSummary(s RunSummary) error {
	return j.writeUnlessFailed(func() error {
		return j.changeRun(func(_ Tx, run *savedRun) error {
			run.Status, run.Reason, run.Quality, run.Steps, run.Due, run.Updated = cmp.Or(s.Status, machine.Running), s.Reason, s.Quality, s.Steps, s.Due, s.Updated
			return nil
		})
	})
}

// ReplaceGraph replaces the graph of the run.
func (j *journal) ReplaceGraph(r RunRecord) error {
	return j.writeUnlessFailed(func() error {
		return j.changeRun(func(tx Tx, run *savedRun) error {
			run.Graph, run.File = r.Graph, r.File
			return errors.Join(tx.DeleteAll(snapshotPrefix(j.runID)), run.deleteTexts(tx), run.putTexts(tx, &r))
		})
	})
}

// changeRun changes the saved run. The caller holds the lock.
func (j *journal) changeRun(do func(tx Tx, run *savedRun) error) error {
	return j.store.storage().Update(func(tx Tx) error {
		run, err := getRun(tx, j.runID)
		if err == nil {
			err = do(tx, run)
		}
		if err != nil {
			return err
		}
		return putRun(tx, run)
	})
}

// EnterGroup asks for a slot in a group.
func (j *journal) EnterGroup(group string, limit int) (out GroupState, err error) {
	err = j.writeUnlessFailed(func() error {
		return j.store.storage().Update(func(tx Tx) (err error) {
			out, err = j.store.enterGroup(tx, j.runID, group, limit)
			return err
		})
	})
	return out, err
}

// writeUnlessFailed changes the store, unless an earlier change failed: the state is unknown then.
func (j *journal) writeUnlessFailed(do func() error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed == nil && j.closed {
		return fmt.Errorf("run %q: %w", j.runID, ErrJournalClosed)
	}
	if j.failed == nil {
		j.failed = do()
	}
	return j.failed
}

// pollInbox polls for requests and offers until the journal closes or its storage is lost.
func (j *journal) pollInbox(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-j.stop:
			return
		case <-ticker.C:
		}
		if err := j.store.storage().CheckStorage(); err != nil {
			_ = j.writeUnlessFailed(func() error { return err }) // the driver gets err when it writes
			j.requests <- RequestCancel
			return
		}
		j.Deliver()
	}
}

// Close releases the run for other drivers.
func (j *journal) Close() error {
	j.mu.Lock()
	closed := j.closed
	j.closed = true
	j.mu.Unlock()
	if closed {
		return nil
	}
	close(j.stop)
	j.polling.Wait()
	j.store.open.Delete(j.runID)
	err := j.changeRun(func(tx Tx, run *savedRun) error {
		run.Owner = ""
		return clearDriver(tx, j.runID)
	})
	if j.failed != nil { // the driver already has the error
		err = nil
	}
	return errors.Join(err, j.release())
}

// EncodeEvents returns each event as one line of JSON without the newline.
func EncodeEvents(events []machine.Event) (texts [][]byte, err error) {
	texts = make([][]byte, len(events))
	for i := range events {
		if texts[i], err = encodeJSON(&events[i]); err != nil {
			return nil, fmt.Errorf("event %s can't be written: %w", events[i].Kind, err)
		}
	}
	return texts, nil
}

// DecodeEvent reads a text that EncodeEvents returned.
func DecodeEvent(text []byte) (machine.Event, error) {
	var e machine.Event
	// json.Unmarshal would parse the text twice.
	if err := e.UnmarshalJSON(text); err != nil {
		return machine.Event{}, fmt.Errorf("event can't be read: %w", err)
	}
	return e, nil
}

func encodeJSON(v any) ([]byte, error) { return eval.AppendJSON(nil, v) }
