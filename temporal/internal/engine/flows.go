// Flows as workers have them: compiled once from the texts of runs.

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

// flowRunner makes a runner over the texts of a run.
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

// digestOf names the texts of a run.
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

// flows are those that a worker has compiled, by digest.
type flows struct {
	mu       sync.Mutex
	byDigest map[string]*runner.Flow
}

// maxFlows bounds how many flows a worker keeps.
const maxFlows = 256

func (f *flows) add(digest string, flow *runner.Flow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byDigest == nil || len(f.byDigest) >= maxFlows {
		f.byDigest = map[string]*runner.Flow{}
	}
	if f.byDigest[digest] == nil {
		f.byDigest[digest] = flow
	}
}

func (f *flows) get(digest string) *runner.Flow {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byDigest[digest]
}

// flow is the flow of a task: kept, or from the beginning of its workflow.
func (w *Worker) flow(ctx context.Context, in *taskInput) (*runner.Flow, error) {
	digest := in.Flow
	if flow := w.flows.get(digest); flow != nil {
		return flow, nil
	}
	at := home(ctx)
	start, err := startOf(ctx, w.client, w.converter, at.ID, at.RunID)
	if err != nil {
		return nil, err
	}
	if got := digestOf(&start.Record); got != digest {
		return nil, fmt.Errorf("the flow has digest %s, the task wants %s", got, digest)
	}
	_, flow, err := flowRunner(&start.Record, runner.Config{Kinds: node.Kinds(node.Options{})})
	if err != nil {
		return nil, err
	}
	w.flows.add(digest, flow)
	return flow, nil
}

// startOf reads the input of a workflow.
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
