// Flows on workers, compiled once from the texts of runs.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// flowRunner returns the flow of a run, and a runner that reads the texts of the run.
func flowRunner(record *store.RunRecord, cfg runner.Config) (*runner.Runner, *runner.Flow, error) {
	texts := record.Files
	cfg.Load = func(path string) ([]byte, error) {
		if text, ok := texts[path]; ok {
			return text, nil
		}
		return nil, fs.ErrNotExist
	}
	r, err := runner.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	g, found := spec.Parse(record.File, record.Source, spec.Options{Kinds: r.Kinds(), Load: record.Load})
	if found.HasErrors() {
		return nil, nil, &runner.InvalidError{Diagnostics: found.Sort()}
	}
	flow, err := r.Prepare(g)
	return r, flow, err
}

// digestOf returns a digest of the texts of a run.
func digestOf(record *store.RunRecord) string {
	sum := sha256.New()
	add := func(name string, text []byte) {
		fmt.Fprintf(sum, "%d %s %d\n", len(name), name, len(text))
		sum.Write(text)
	}
	add(record.File, record.Source)
	for _, name := range slices.Sorted(maps.Keys(record.Files)) {
		add(name, record.Files[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// maxKept bounds how many flows, and how many recordings, a worker keeps.
const maxKept = 64

// cache keeps values by digest.
type cache[T any] struct {
	mu       sync.Mutex
	byDigest map[string]T
}

// get returns the value that is kept, or else reads it.
func (c *cache[T]) get(digest string, read func() (T, error)) (T, error) {
	c.mu.Lock()
	kept, ok := c.byDigest[digest]
	c.mu.Unlock()
	if ok {
		return kept, nil
	}
	kept, err := read()
	if err != nil {
		return kept, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byDigest == nil || len(c.byDigest) >= maxKept {
		c.byDigest = map[string]T{}
	}
	c.byDigest[digest] = kept
	return kept, nil
}

// flow returns the flow of a task, from the start of its workflow.
func (w *Worker) flow(ctx context.Context, in *taskInput) (*runner.Flow, error) {
	return w.flows.get(in.Flow, func() (*runner.Flow, error) {
		at := home(ctx)
		start, err := startOf(ctx, w.client, w.converter, at.ID, at.RunID)
		if err != nil {
			return nil, err
		}
		if got := digestOf(&start.Record); got != in.Flow {
			return nil, fmt.Errorf("the flow has digest %s, the task wants %s", got, in.Flow)
		}
		_, flow, err := flowRunner(&start.Record, runner.Config{Kinds: node.Kinds(node.Options{})})
		return flow, err
	})
}

// startOf reads the input of a workflow, without its snapshot and journal.
func startOf(ctx context.Context, c client.Client, conv converter.DataConverter, id, run string) (*Start, error) {
	history := c.GetWorkflowHistory(ctx, id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if !history.HasNext() {
		return nil, fmt.Errorf("run %q: %w", id, store.ErrNoRun)
	}
	first, err := history.Next()
	if err != nil {
		return nil, err
	}
	var start Start
	input := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if err := conv.FromPayload(input.GetPayloads()[0], &start); err != nil { // what follows is large
		return nil, err
	}
	return &start, nil
}
