// The journal that a workflow goes on from, on its way to it.

package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
)

// snapshot is what the workflow of a start gets as the latest state. A run that moves
// again before there is another one gets the same bytes, which are kept once.
func (s *Start) snapshot() []byte {
	if s.Seed == nil {
		return []byte{}
	}
	return append([]byte{}, s.Seed.Snapshot...)
}

// journal is the rest of the journal: the events after the snapshot, each with its
// length before it.
func (s *Start) journal() []byte {
	out := []byte{}
	if s.Seed == nil {
		return out
	}
	for _, text := range s.Seed.Events {
		out = binary.AppendUvarint(out, uint64(len(text)))
		out = append(out, text...)
	}
	return out
}

// grow puts a snapshot and a journal into the seed of a start, if it has one. They stay
// the caller's.
func (s *Start) grow(snapshot, journal []byte) error {
	if s.Seed == nil {
		return nil
	}
	s.Seed.Snapshot, s.Seed.Events = snapshot, nil
	for len(journal) > 0 {
		size, n := binary.Uvarint(journal)
		if n <= 0 || size > uint64(len(journal)-n) {
			return errors.New("the journal that the workflow goes on from is damaged")
		}
		end := n + int(size)
		s.Seed.Events = append(s.Seed.Events, json.RawMessage(journal[n:end:end]))
		journal = journal[end:]
	}
	return nil
}
