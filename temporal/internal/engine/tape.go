// Recordings of models and tools. Tasks record them on their workers, or play the recording of the
// client there.

package engine

import (
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
)

// tape records or plays the models and tools of a run.
type tape struct {
	// Digest is the digest of the recording to play, Name its name in messages. Without them,
	// tasks record.
	Digest string `json:"digest,omitempty"`
	Name   string `json:"name,omitempty"`
	// Used are the numbers of the calls that were played for each execution.
	Used map[string][]int `json:"used,omitempty"`
}

// executionKey returns the key of a task on a tape. Attempts of the same execution share it.
func (t *taskInput) executionKey() string { return fmt.Sprintf("%s#%d", t.Task.Place, t.Task.Visit) }

// isPlaying reports whether there is a recording to play.
func (t *tape) isPlaying() bool { return t != nil && t.Digest != "" }

// newTaskTape returns the tape of a task, or nil if the run is neither recorded nor played.
func (t *tape) newTaskTape(in *taskInput) *tape {
	if t == nil {
		return nil
	}
	key := in.executionKey()
	return &tape{Digest: t.Digest, Name: t.Name, Used: map[string][]int{key: t.Used[key]}}
}

func (t *tape) addUsed(in *taskInput, used []int) {
	if t == nil || len(used) == 0 {
		return
	}
	if t.Used == nil {
		t.Used = map[string][]int{}
	}
	t.Used[in.executionKey()] = used
}

func (w *Worker) openTape(in *taskInput) (*cassette.Cassette, error) {
	t := in.Tape
	if t.Digest == "" {
		return cassette.New(), nil
	}
	text, err := readBlob(w.blobs, t.Digest)
	if err != nil {
		return nil, err
	}
	recorded, err := cassette.Parse(t.Name, text)
	if err != nil {
		return nil, err
	}
	return recorded.CopyPlayed(t.Used[in.executionKey()]), nil
}

// insertTape makes handlers that record or play the tape of a task. Without a tape, it uses the
// handlers of the worker.
func (j *job) insertTape(t *tape) (err error) {
	j.handlers, j.decider = j.worker.handlers, j.worker.decider
	if t == nil {
		return nil
	}
	err = retryStore(j.ctx, func() (err error) {
		j.tape, err = j.worker.openTape(j.in)
		return err
	})
	j.handlers, j.decider = newHandlers(node.Options{Cassette: j.tape})
	return err
}

// saveRecording stores what was recorded since the last call.
func (j *job) saveRecording() error {
	if j.tape == nil || j.tape.IsPlaying() {
		return nil
	}
	text, err := j.tape.TakeNewCalls()
	if err != nil || text == nil {
		return err
	}
	name := fmt.Sprintf("%s/%d-%s", recordingFolder(j.in.Task.RunID), time.Now().UnixNano(), rand.Text()) // in order
	return retryStore(j.ctx, func() error { return wrapStoreError(j.worker.blobs.put(name, text)) })
}

// newTape returns the tape of a run, or nil if it is neither recorded nor played.
func (s *Store) newTape(c *cassette.Cassette) (*tape, error) {
	switch {
	case c == nil:
		return nil, nil
	case !c.IsPlaying():
		return &tape{}, nil
	}
	text, err := c.Encode()
	if err != nil {
		return nil, err
	}
	digest, err := storeBlob(s.cluster.blobs, text)
	return &tape{Digest: digest, Name: c.Name()}, err
}

// recorder copies the recording of a run to the client step by step.
type recorder struct {
	runner.Sink // may be nil
	store       *Store
	runID       string
	tape        *cassette.Cassette
	copied      []string // names of recordings
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

// copyNew copies the recordings of tasks since the last call.
func (r *recorder) copyNew() error {
	blobs := r.store.cluster.blobs
	all, err := blobs.list(recordingFolder(r.runID))
	for _, name := range all {
		if err != nil || slices.Contains(r.copied, name) {
			continue
		}
		var text []byte
		if text, err = blobs.get(name); err == nil {
			err = r.tape.AddCalls(text)
		}
		r.copied = append(r.copied, name)
	}
	if err != nil {
		err = fmt.Errorf("the recording lacks what a task has recorded: %w", err)
	}
	return err
}
