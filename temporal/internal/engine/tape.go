// Recordings of models and tools: tasks record on their workers, or play there the recording
// of the client.

package engine

import (
	"fmt"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
)

// tape records or plays the models and tools of a run. Recordings are in the payload store,
// by digest.
type tape struct {
	// Digest names the recording to play, Name is its name in messages. Empty: the run is
	// recorded.
	Digest string `json:"digest,omitempty"`
	Name   string `json:"name,omitempty"`
	// Recorded holds the recordings of tasks in the order in which they came.
	Recorded []string `json:"recorded,omitempty"`
	// Used are the numbers of the calls that were played for each execution.
	Used map[string][]int `json:"used,omitempty"`
}

// execution returns the key of a task on a tape. Its attempts play one after the other.
func (t *taskInput) execution() string { return fmt.Sprintf("%s#%d", t.Task.Place, t.Task.Visit) }

// plays reports whether there is a recording to play.
func (t *tape) plays() bool { return t != nil && t.Digest != "" }

// of returns the tape of a task, or nil if its models and tools are called.
func (t *tape) of(in *taskInput) *tape {
	if t == nil {
		return nil
	}
	key := in.execution()
	return &tape{Digest: t.Digest, Name: t.Name, Used: map[string][]int{key: t.Used[key]}}
}

// recordings returns the digests of the recordings of tasks.
func (t *tape) recordings() []string {
	if t == nil {
		return nil
	}
	return t.Recorded
}

// add adds the recording of a task and the calls that it played.
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

// openTape opens the tape of a task.
func (w *Worker) openTape(in *taskInput) (*cassette.Cassette, error) {
	t := in.Tape
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
	return kept.Rewound(t.Used[in.execution()]), nil
}

// insert puts the tape of a task into its handlers; without one, they are the worker's.
func (j *job) insert(t *tape) (err error) {
	j.handlers, j.decider = j.worker.handlers, j.worker.decider
	if t == nil {
		return nil
	}
	err = retryStore(j.ctx, func() (err error) {
		j.tape, err = j.worker.openTape(j.in)
		return err
	})
	j.handlers, j.decider = handlersOf(node.Options{Cassette: j.tape})
	return err
}

// takeRecording stores the recording since the last call and returns its digest; "" for none.
func (j *job) takeRecording() (digest string, err error) {
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

// addTape adds the recording, or the calls that were played, to the result of a task.
func (j *job) addTape(result *taskResult) (err error) {
	if j.tape.Playing() {
		result.Used = j.tape.Played()
		return nil
	}
	result.Recorded, err = j.takeRecording()
	return err
}

// newTape returns the tape of a run, or nil if it is neither recorded nor played.
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

// recorder copies the recording of a run to the client step by step, so that it is there
// after an interrupt.
type recorder struct {
	runner.Sink // may be nil
	store       *Store
	runID       string
	tape        *cassette.Cassette
	taken       int
}

// Event passes an event to the sink.
func (r *recorder) Event(e *runner.Event) error {
	if e.Type == runner.Checkpoint {
		if err := r.copyNew(); err != nil {
			return err
		}
	}
	if r.Sink == nil {
		return nil
	}
	return r.Sink.Event(e)
}

// copyNew copies the recording since the last call.
func (r *recorder) copyNew() error {
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
