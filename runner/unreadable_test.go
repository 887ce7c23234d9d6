package runner_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// The list shows a run whose journal can't be read with the reason, and the other runs as usual.
func TestUnreadableRun(t *testing.T) {
	kept := &store.Memory{}
	r, err := runner.New(runner.Config{Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("graphrun: v1\nname: f\nstart: a\nnodes: {a: {kind: wait, for: 1h}}\nedges: [{from: a, to: END}]\n")
	flow, found := spec.Parse("f.yaml", text, spec.Options{})
	if found.HasErrors() {
		t.Fatal(found)
	}
	if _, err := r.Run(context.Background(), flow, runner.Options{RunID: "good", Park: time.Minute}); err != nil {
		t.Fatal(err)
	}
	good, err := kept.List(store.RunFilter{})
	if err != nil || len(good) != 1 {
		t.Fatal(err, good)
	}
	record := good[0].RunRecord
	record.ID, record.Source = "bad", text
	began := machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "bad"}}
	journal, err := kept.Create(record, began, machine.Event{Kind: "nonsense"})
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	runs, err := kept.List(store.RunFilter{})
	if err != nil {
		t.Fatal(err)
	}
	inspect.RefreshSteps(r, runs)
	for _, one := range runs {
		if (one.Unreadable != "") != (one.ID == "bad") || one.ID == "bad" && !strings.Contains(one.Unreadable, "nonsense") {
			t.Errorf("run %s: %q", one.ID, one.Unreadable)
		}
	}
}
