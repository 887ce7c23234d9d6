// Runs in a KVStore. In their keys, R is a run id and S a hash:
//
//	list/STATUS/START.NUMBER  the run as JSON
//	run/R                     the key of the run in the list
//	event/NUMBER/N            event N
//	state/R/N                 the snapshot after event N
//	text/S, use/S/R           texts, and a run that has them

package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/runner/machine"
)

// savedRun is a run as JSON. Its texts are stored under another key.
type savedRun struct {
	RunSummary
	// Number is the run's number in the order of creation.
	Number int
	// Texts is the hash of the texts.
	Texts string
}

// texts are the texts of a run as JSON; see RunRecord.
type texts struct {
	Source []byte
	Files  map[string][]byte
}

// EventKeys begins the keys of events. The numbers of the run and the event follow, in ten digits each.
const EventKeys = "event/"

const (
	maxNumber = 9_999_999_999 // the largest of 10 digits
	listKeys  = "list/"
	countKey  = "runs"
)

// numberedKey returns the key of an event, a snapshot or a chunk of a log.
func numberedKey(prefix string, n int) string { return fmt.Sprintf("%s%010d", prefix, n) }

// parseNumber returns the number in a key, or 0 for "".
func parseNumber(key string) int {
	n, _ := strconv.Atoi(key[strings.LastIndexByte(key, '/')+1:])
	return n
}

func runKey(runID string) string         { return joinKey("run", runID) }
func snapshotPrefix(runID string) string { return joinKey("state", runID) + "/" }

// eventPrefix returns the prefix of the keys of the run's events.
func (r *savedRun) eventPrefix() string { return numberedKey(EventKeys, r.Number) + "/" }

func textKey(sum string) string   { return "text/" + sum }
func usePrefix(sum string) string { return "use/" + sum + "/" }

// listKey returns the key of the run in the list of its status, latest start first.
func (r *savedRun) listKey() string {
	at := uint64(math.MaxUint64)
	if !r.Started.IsZero() {
		at = ^(uint64(r.Started.UnixNano()) ^ 1<<63)
	}
	return fmt.Sprintf("%s%s/%020d.%010d", listKeys, joinKey(string(r.Status)), at, maxNumber-r.Number)
}

// getRun returns a run. It fails with ErrNoRun.
func getRun(tx Tx, runID string) (*savedRun, error) {
	key, err := tx.Get(runKey(runID))
	if err == nil && key == nil {
		err = fmt.Errorf("run %q: %w", runID, ErrNoRun)
	}
	if err != nil {
		return nil, err
	}
	run := &savedRun{}
	_, err = getJSON(tx, string(key), run)
	return run, err
}

// putRun stores a run under the key where List finds it.
func putRun(tx Tx, run *savedRun) error {
	key := run.listKey()
	before, err := tx.Get(runKey(run.ID))
	if err == nil && before != nil && string(before) != key {
		err = tx.Delete(string(before))
	}
	if err == nil && string(before) != key {
		err = tx.Put(runKey(run.ID), []byte(key))
	}
	if err != nil {
		return err
	}
	return putJSON(tx, key, run)
}

// newRun stores the texts of a new run, and returns the run unstored. It fails with ErrRunExists.
func newRun(tx Tx, r RunRecord) (*savedRun, error) {
	if before, err := tx.Get(runKey(r.ID)); err != nil || before != nil {
		return nil, cmp.Or(err, runExistsError(r.ID))
	}
	run := &savedRun{RunSummary: RunSummary{RunRecord: r, Status: machine.Running, Updated: r.Started}}
	run.Source, run.Files = nil, nil
	if _, err := getJSON(tx, countKey, &run.Number); err != nil {
		return nil, err
	}
	run.Number++
	return run, errors.Join(putJSON(tx, countKey, run.Number), run.putTexts(tx, &r))
}

func runExistsError(runID string) error { return fmt.Errorf("run %q: %w", runID, ErrRunExists) }

// putTexts stores the texts of a run. Runs with the same texts share them.
func (r *savedRun) putTexts(tx Tx, from *RunRecord) error {
	text, err := encodeJSON(texts{from.Source, from.Files})
	r.Texts = fmt.Sprintf("%x", sha256.Sum256(text))
	return errors.Join(err, tx.Put(textKey(r.Texts), text), tx.Put(usePrefix(r.Texts)+joinKey(r.ID), nil))
}

// deleteTexts deletes the texts of a run unless another run shares them.
func (r *savedRun) deleteTexts(tx Tx) error {
	if err := tx.Delete(usePrefix(r.Texts) + joinKey(r.ID)); err != nil {
		return err
	}
	uses, err := collectPairs(tx, usePrefix(r.Texts), "", 1)
	if err == nil && len(uses) == 0 {
		err = tx.Delete(textKey(r.Texts))
	}
	return err
}

// Create starts the journal of a new run.
func (s *KVStore) Create(record RunRecord, first ...machine.Event) (Journal, error) {
	return s.createRun(record, first, func(Tx, *savedRun) (int, error) { return 0, nil })
}

// Fork starts the journal of a new run with the first n events of another run.
func (s *KVStore) Fork(record RunRecord, from string, n int, first ...machine.Event) (Journal, error) {
	return s.createRun(record, first, func(tx Tx, run *savedRun) (copied int, err error) {
		source, err := getRun(tx, from)
		if err != nil {
			return 0, err
		}
		if copied, err = copyUpTo(tx, source.eventPrefix(), run.eventPrefix(), n); err == nil {
			_, err = copyUpTo(tx, snapshotPrefix(from), snapshotPrefix(record.ID), n)
		}
		return copied, err
	})
}

// copyUpTo copies numbered values up to number n. It returns the last number copied.
func copyUpTo(tx Tx, from, to string, n int) (last int, err error) {
	for after := ""; ; {
		pairs, err := collectPairs(tx, from, after, 1000)
		if err != nil || len(pairs) == 0 {
			return last, err
		}
		for _, p := range pairs {
			if parseNumber(p.Key) > n {
				return last, nil
			}
			last, after = parseNumber(p.Key), p.Key
			if err := tx.Put(numberedKey(to, last), p.Value); err != nil {
				return last, err
			}
		}
	}
}

// createRun starts the journal of a new run. inherit stores and counts the events before first.
func (s *KVStore) createRun(record RunRecord, first []machine.Event, inherit func(tx Tx, run *savedRun) (events int, err error)) (Journal, error) {
	texts, err := EncodeEvents(first)
	if err != nil {
		return nil, err
	}
	driven := func() error { return runExistsError(record.ID) }
	return s.lockAndOpen(record.ID, s.ownerName(""), driven, func(tx Tx) (*savedRun, error) {
		run, err := newRun(tx, record)
		if err != nil {
			return nil, err
		}
		n, err := inherit(tx, run)
		if err != nil {
			return nil, err
		}
		return run, appendEvents(tx, run.eventPrefix(), n, texts)
	})
}

func (s *KVStore) ownerName(name string) string { return cmp.Or(name, s.Owner, "this program") }

// Open opens the journal of a run.
func (s *KVStore) Open(runID, owner string) (Journal, error) {
	if _, err := s.readRun(runID); err != nil { // before the lock, which Create may need
		return nil, err
	}
	return s.lockAndOpen(runID, s.ownerName(owner), func() error { return s.drivenError(runID) }, func(tx Tx) (*savedRun, error) { return getRun(tx, runID) })
}

func (s *KVStore) readRun(runID string) (run *savedRun, err error) {
	err = s.storage().View(func(tx Tx) (err error) {
		run, err = getRun(tx, runID)
		return err
	})
	return run, err
}

func (s *KVStore) drivenError(runID string) error {
	run, err := s.readRun(runID)
	switch {
	case errors.Is(err, ErrNoRun):
		run = &savedRun{}
	case err != nil:
		return err
	}
	return &DrivenError{RunID: runID, Owner: cmp.Or(run.Owner, "a driver that begins or ends")}
}

// Run returns the record of a run.
func (s *KVStore) Run(runID string) (out RunRecord, err error) {
	err = s.storage().View(func(tx Tx) error {
		run, err := getRun(tx, runID)
		if err != nil {
			return err
		}
		var kept texts
		_, err = getJSON(tx, textKey(run.Texts), &kept)
		out = s.newSummary(run).RunRecord
		out.Source, out.Files = kept.Source, kept.Files
		return err
	})
	return out, err
}

// statuses lists the statuses that a run can have in a store.
var statuses = [...]machine.Status{
	machine.Running, machine.Paused, machine.Completed, machine.Failed, machine.Stuck, machine.Limit, machine.Cancelled,
}

// List returns the runs that a filter selects, latest start first.
func (s *KVStore) List(filter RunFilter) ([]RunSummary, error) {
	var found []*savedRun
	err := s.storage().View(func(tx Tx) (err error) {
		if filter.ID != "" || filter.Prefix != "" {
			found, err = findRuns(tx, cmp.Or(filter.ID, filter.Prefix))
			return err
		}
		for _, status := range statuses {
			if len(filter.Status) > 0 && !slices.Contains(filter.Status, status) {
				continue
			}
			left := cmp.Or(max(0, filter.Limit), math.MaxInt) // a status needs no more
			err = cmp.Or(err, visitJSON(tx, listKeys+joinKey(string(status))+"/", func(run *savedRun) bool {
				if filter.Match(&run.RunSummary) {
					found = append(found, run)
					left--
				}
				return left > 0
			}))
		}
		return err
	})
	slices.SortFunc(found, func(a, b *savedRun) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.Number, a.Number))
	})
	var out []RunSummary
	for _, run := range found {
		if filter.Match(&run.RunSummary) && (filter.Limit <= 0 || len(out) < filter.Limit) {
			out = append(out, s.newSummary(run))
		}
	}
	return out, err
}

// newSummary returns the summary of a run for List.
func (s *KVStore) newSummary(run *savedRun) RunSummary {
	out := run.RunSummary
	out.Started, out.Updated, out.Due = localTime(out.Started), localTime(out.Updated), localTime(out.Due)
	if out.Owner != "" && !s.storage().IsLocked(out.ID) {
		out.Owner = ""
	}
	return out
}

func findRuns(tx Tx, prefix string) (out []*savedRun, err error) {
	keys, err := collectPairs(tx, runKey(prefix), "", -1)
	for _, p := range keys {
		run := &savedRun{}
		if _, err := getJSON(tx, string(p.Value), run); err != nil {
			return nil, err
		}
		out = append(out, run)
	}
	return out, err
}

// Delete deletes a run.
func (s *KVStore) Delete(runID string) error { return s.DeleteThen(runID, func() error { return nil }) }

// DeleteThen deletes a run, and calls then before it unlocks the run.
func (s *KVStore) DeleteThen(runID string, then func() error) error {
	release, err := s.storage().Lock(runID)
	switch {
	case err != nil:
		return err
	case release == nil:
		return s.drivenError(runID)
	}
	err = s.storage().Update(func(tx Tx) error {
		run, err := getRun(tx, runID)
		if err != nil {
			return err
		}
		return errors.Join(run.deleteTexts(tx), tx.Delete(run.listKey()), tx.Delete(runKey(runID)), tx.DeleteAll(run.eventPrefix()),
			tx.DeleteAll(snapshotPrefix(runID)), clearDriver(tx, runID), deleteOffers(tx, runID), tx.DeleteAll(logPrefix(runID)))
	})
	if err == nil {
		err = then()
	}
	return errors.Join(err, release())
}

// clearDriver deletes the requests to the driver of a run, and the run's slot.
func clearDriver(tx Tx, runID string) error {
	return errors.Join(tx.Delete(requestKey(runID)), leaveGroup(tx, runID))
}

// appendEvents stores the texts of events after the first n events.
func appendEvents(tx Tx, prefix string, n int, texts [][]byte) error {
	for i, text := range texts {
		if err := tx.Put(numberedKey(prefix, n+i+1), text); err != nil {
			return err
		}
	}
	return nil
}

// measureJournal counts a run's events, and the bytes of the events after its last snapshot.
func measureJournal(tx Tx, run *savedRun) (events, journaled int, err error) {
	last, err := tx.Last(run.eventPrefix(), prefixEnd(run.eventPrefix()))
	if err != nil {
		return 0, 0, err
	}
	state, err := tx.Last(snapshotPrefix(run.ID), prefixEnd(snapshotPrefix(run.ID)))
	if err != nil {
		return 0, 0, err
	}
	err = tx.Scan(run.eventPrefix(), numberedKey(run.eventPrefix(), parseNumber(state.Key)), func(p Pair) bool {
		journaled += len(p.Value)
		return true
	})
	return parseNumber(last.Key), journaled, err
}

// Events returns events after the first n, about size bytes of them.
func (s *KVStore) Events(runID string, n, size int) ([]machine.Event, error) {
	n = max(n, 0)
	events := []machine.Event{}
	err := s.storage().View(func(tx Tx) error {
		run, err := getRun(tx, runID)
		if err != nil {
			return err
		}
		var bad error
		err = tx.Scan(run.eventPrefix(), numberedKey(run.eventPrefix(), n), func(p Pair) bool {
			next := n + len(events) + 1
			if parseNumber(p.Key) != next {
				bad = fmt.Errorf("run %q: %w: event %d is missing", runID, ErrDamaged, next)
				return false
			}
			var e machine.Event
			if e, bad = DecodeEvent(p.Value); bad != nil {
				bad = fmt.Errorf("run %q: event %d: %w", runID, next, bad)
				return false
			}
			events, size = append(events, e), size-len(p.Value)
			return size > 0
		})
		return cmp.Or(err, bad)
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// Snapshot returns the latest snapshot after at most `most` events.
func (s *KVStore) Snapshot(runID string, most int) (out Snapshot, err error) {
	limit := prefixEnd(snapshotPrefix(runID))
	if most >= 0 {
		limit = numberedKey(snapshotPrefix(runID), most)
	}
	err = s.storage().View(func(tx Tx) error {
		if _, err := getRun(tx, runID); err != nil {
			return err
		}
		last, err := tx.Last(snapshotPrefix(runID), limit)
		if last.Key != "" {
			out = Snapshot{Events: parseNumber(last.Key), State: bytes.Clone(last.Value)}
		}
		return err
	})
	return out, err
}
