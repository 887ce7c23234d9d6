// Recordings of what models and tools answer: tasks record on their workers, or play
// there what the client sent.

package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
)

// tape is what the models and tools of a run are recorded on, or played from. Texts of
// recordings are in the payload store, by their digests.
type tape struct {
	// Digest is that of the recording to play, Name what messages call it. Empty: the run
	// is recorded.
	Digest string `json:"digest,omitempty"`
	Name   string `json:"name,omitempty"`
	// Recorded is what tasks have recorded so far, in the order in which the run was told.
	Recorded []string `json:"recorded,omitempty"`
	// Used are the numbers of the calls that were played for each execution.
	Used map[string][]int `json:"used,omitempty"`
}

// taskTape is the part of a tape that a task gets.
type taskTape struct {
	Digest string `json:"digest,omitempty"`
	Name   string `json:"name,omitempty"`
	Used   []int  `json:"used,omitempty"`
}

// execution names that of a task on a tape: its attempts play one after the other.
func (t *taskInput) execution() string { return fmt.Sprintf("%s#%d", t.Task.Place, t.Task.Visit) }

// copy is a tape that another workflow goes on with.
func (t *tape) copy() *tape {
	if t == nil {
		return nil
	}
	out := *t
	out.Recorded, out.Used = slices.Clone(t.Recorded), maps.Clone(t.Used)
	return &out
}

// plays reports whether there is a recording to play.
func (t *tape) plays() bool { return t != nil && t.Digest != "" }

// of is what a task gets of a tape; nil: nothing, its models and tools are asked.
func (t *tape) of(in *taskInput) *taskTape {
	if t == nil || in.Choice == nil && takesNoNotes(in.Task.Kind) {
		return nil
	}
	return &taskTape{t.Digest, t.Name, t.Used[in.execution()]}
}

// add keeps what a task has recorded and played.
func (t *tape) add(in *taskInput, recorded string, used []int) {
	if t == nil {
		return
	}
	if recorded != "" {
		t.Recorded = append(t.Recorded, recorded)
	}
	if len(used) > 0 {
		if t.Used == nil {
			t.Used = map[string][]int{}
		}
		t.Used[in.execution()] = used
	}
}

// open opens the tape of a task.
func (w *Worker) open(t *taskTape) (*cassette.Cassette, error) {
	if t.Digest == "" {
		return cassette.New(), nil
	}
	kept, err := w.tapes.get(t.Digest, func() (*cassette.Cassette, error) {
		text, err := readBlob(w.blobs, t.Digest)
		if err != nil {
			return nil, err
		}
		return cassette.Parse(t.Name, text)
	})
	if err != nil {
		return nil, err
	}
	return kept.Rewound(t.Used), nil
}

// insert puts the tape of a task into its handlers; without one, they are the worker's.
func (j *job) insert(t *taskTape) error {
	j.handlers, j.decider = j.worker.handlers, j.worker.decider
	if t == nil {
		return nil
	}
	var err error
	if err = retryStore(j.ctx, func() error {
		j.tape, err = j.worker.open(t)
		return err
	}); err != nil {
		return err
	}
	options := node.Options{Cassette: j.tape}
	j.handlers, j.decider = map[string]runner.Handler{}, node.NewDecider(options)
	for _, kind := range node.Kinds(options) {
		j.handlers[kind.Spec.Name] = kind.Handler
	}
	return nil
}

// recorded keeps what was recorded since the last time, and returns its digest; empty:
// nothing was.
func (j *job) recorded() (digest string, err error) {
	if j.tape == nil || j.tape.Playing() {
		return "", nil
	}
	text, err := j.tape.Take()
	if err != nil || text == nil {
		return "", err
	}
	err = retryStore(j.ctx, func() error {
		digest, err = keepBlob(j.worker.blobs, text)
		return err
	})
	return digest, err
}

// tapeTo adds to the result of a task what it recorded and played.
func (j *job) tapeTo(result *taskResult) (err error) {
	if j.tape.Playing() {
		result.Used = j.tape.Played()
		return nil
	}
	result.Recorded, err = j.recorded()
	return err
}

// newTape is the tape of a run that is recorded or played; nil: neither.
func (s *Store) newTape(c *cassette.Cassette) (*tape, error) {
	switch {
	case c == nil:
		return nil, nil
	case !c.Playing():
		return &tape{}, nil
	}
	text, err := c.Encode()
	if err != nil {
		return nil, err
	}
	digest, err := keepBlob(s.cluster.blobs, text)
	return &tape{Digest: digest, Name: c.Name()}, err
}

// recorder takes what a run records to the client, step by step, so that who is
// interrupted has what there was.
type recorder struct {
	runner.Sink // nil: nobody
	store       *Store
	runID       string
	tape        *cassette.Cassette
	taken       int
}

// Event tells the sink.
func (r *recorder) Event(e *runner.Event) error {
	if e.Type == runner.Checkpoint {
		if err := r.take(); err != nil {
			return err
		}
	}
	if r.Sink == nil {
		return nil
	}
	return r.Sink.Event(e)
}

// take adds what was recorded since the last time.
func (r *recorder) take() error {
	var all []string
	if err := r.store.query(r.runID, "", queryTape, &all); err != nil {
		return fmt.Errorf("the recording lacks what came after call %d: %w", r.taken, err)
	}
	for _, digest := range all[min(r.taken, len(all)):] {
		text, err := readBlob(r.store.cluster.blobs, digest)
		if err == nil {
			err = r.tape.Add(text)
		}
		if err != nil {
			return fmt.Errorf("the recording lacks what a task has recorded: %w", err)
		}
		r.taken++
	}
	return nil
}
