// Snapshots: states that stand for the events before them.

package journal

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Snapshot is a state that has been read from a store. The zero Snapshot is the
// beginning of a run.
type Snapshot struct {
	Head   Head
	Events int // that it stands for
	state  []byte
	fresh  *machine.State // the state, unless somebody has it already
}

// Head is what a driver keeps besides the machine's state; it stands in the first line
// of a snapshot.
type Head struct {
	Started int64 `json:"started"` // Unix nanoseconds
	Last    int64 `json:"last"`    // when the last event happened
	Steps   int   `json:"steps"`   // of the outermost graph that have ended
	// Told is the number of the last event that was told.
	Told int64 `json:"told,omitempty"`
	// Hidden are the texts that secret keys have had.
	Hidden []string `json:"hidden,omitempty"`
}

// Line is the head as a snapshot begins with it.
func (h *Head) Line() ([]byte, error) {
	text, err := json.Marshal(h)
	return append(text, '\n'), err
}

// readSnapshot takes a snapshot of a store apart. A state that this program
// can't read is an error: the events before it are still there.
func readSnapshot(s store.Snapshot, plan *machine.Plan) (Snapshot, error) {
	head, state, _ := bytes.Cut(s.State, []byte("\n"))
	out := Snapshot{Events: s.Events, state: state}
	if err := json.Unmarshal(head, &out.Head); err != nil {
		return out, fmt.Errorf("snapshot can't be read: %w", err)
	}
	var err error
	out.fresh, err = plan.Restore(state)
	return out, err
}

// Restore is the machine's state of a snapshot.
func (s *Snapshot) Restore(plan *machine.Plan) (*machine.State, error) {
	switch fresh := s.fresh; {
	case s.Events == 0:
		return plan.NewState(), nil
	case fresh != nil:
		s.fresh = nil
		return fresh, nil
	}
	return plan.Restore(s.state)
}

// stepsOf is how many steps a snapshot's path has; what can't be read has none.
func stepsOf(s *store.Snapshot) int {
	var head Head
	line, _, _ := bytes.Cut(s.State, []byte("\n"))
	if json.Unmarshal(line, &head) != nil {
		return 0
	}
	return head.Steps
}
