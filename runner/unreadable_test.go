package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// One run whose journal can't be read is listed with the reason; the others stay as they
// are.
func TestUnreadableRun(t *testing.T) {
	kept := &store.Memory{}
	r, err := runner.New(runner.Config{Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	flow, found := spec.Parse("f.yaml", []byte("graphrun: v1\nname: f\nstart: a\nnodes: {a: {kind: human, prompt: q}}\nedges: [{from: a, to: END}]\n"), spec.Options{})
	if found.HasErrors() {
		t.Fatal(found)
	}
	for _, id := range []string{"good", "bad"} {
		if _, err := r.Run(context.Background(), flow, runner.Options{RunID: id}); err != nil {
			t.Fatal(err)
		}
	}
	journal, err := kept.Open("bad", "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.AppendAll([]machine.Event{{Kind: machine.Resumed}, {Kind: "nonsense"}}); err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	runs, err := kept.List(store.RunFilter{})
	if err != nil {
		t.Fatal(err)
	}
	inspect.Refresh(r, runs)
	for _, one := range runs {
		if (one.Unreadable != "") != (one.ID == "bad") || one.ID == "bad" && !strings.Contains(one.Unreadable, "nonsense") {
			t.Errorf("run %s: %q", one.ID, one.Unreadable)
		}
	}
}
