// The journal that a workflow goes on from, on its way to it.

package engine

import "encoding/json"

// snapshot is what the workflow of a start gets as the latest state. A run that moves
// again before there is another one gets the same bytes, which are kept once.
func (s *Start) snapshot() []byte {
	if s.Seed == nil {
		return []byte{}
	}
	return append([]byte{}, s.Seed.Snapshot...)
}

// journal is the rest of the journal: the events after the snapshot.
func (s *Start) journal() ([]byte, error) {
	if s.Seed == nil {
		return []byte{}, nil
	}
	return json.Marshal(s.Seed.Events)
}

// addJournal puts a snapshot and a journal into the seed of a start, if it has one.
func (s *Start) addJournal(snapshot, journal []byte) error {
	if s.Seed == nil {
		return nil
	}
	s.Seed.Snapshot = snapshot
	return json.Unmarshal(journal, &s.Seed.Events)
}
