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

// journal is the rest of the journal: the path up to the snapshot and the events after
// it, each with its length before it.
func (s *Start) journal() []byte {
	out := []byte{}
	if s.Seed == nil {
		return out
	}
	add := func(text []byte) {
		out = binary.AppendUvarint(out, uint64(len(text)))
		out = append(out, text...)
	}
	add(s.Seed.Path)
	for _, text := range s.Seed.Events {
		add(text)
	}
	return out
}

// grow puts a snapshot and a journal into the seed of a start, if it has one. They stay
// the caller's.
func (s *Start) grow(snapshot, journal []byte) error {
	if s.Seed == nil {
		return nil
	}
	s.Seed.Snapshot, s.Seed.Path, s.Seed.Events = snapshot, nil, nil
	for first := true; len(journal) > 0; first = false {
		size, n := binary.Uvarint(journal)
		if n <= 0 || size > uint64(len(journal)-n) {
			return errors.New("the journal that the workflow goes on from is damaged")
		}
		end := n + int(size)
		if text := journal[n:end:end]; first {
			s.Seed.Path = text
		} else {
			s.Seed.Events = append(s.Seed.Events, json.RawMessage(text))
		}
		journal = journal[end:]
	}
	return nil
}
