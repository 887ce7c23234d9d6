package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
	"github.com/graphrun/graphrun/spec"
)

// troubledFlow runs a node that gets the file into trouble, then goes on.
const troubledFlow = `
graphrun: v1
name: troubled
start: a
state: {n: {type: integer, default: 0}}
nodes:
  a: {kind: set, set: {n: n + 1}}
  b: {kind: trouble}
  c: {kind: set, set: {n: n + 100}}
edges:
  - {from: a, to: a, when: n < 20}
  - {from: a, to: b}
  - {from: b, to: c}
  - {from: c, to: END}
`

// Another process keeps the file locked: the run stops with that error, and can
// be gone on with when the file is free.
func TestBusyUnderARun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path, sqlite.Options{Busy: 50 * time.Millisecond})
	other := sqlite.OpenBare(path, sqlite.Off)
	defer other.Close()
	locked := false
	trouble := runner.Kind{Spec: spec.Kind{Name: "trouble"}, Handler: runner.HandlerFunc(func(context.Context, *runner.Task) (any, error) {
		if locked {
			return nil, nil
		}
		locked = true
		_, err := other.Exec("BEGIN IMMEDIATE")
		return nil, err
	})}
	r, err := runner.New(runner.Config{Store: s, Kinds: []runner.Kind{trouble}})
	if err != nil {
		t.Fatal(err)
	}
	g, found := spec.Parse("troubled.yaml", []byte(troubledFlow), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatal(found[0].Message)
	}
	if got, err := r.Run(t.Context(), g, runner.Options{RunID: "one"}); got == nil || got.Status != machine.Failed || !errors.Is(err, sqlite.ErrBusy) {
		t.Fatalf("%v, %v; want ErrBusy", got, err)
	}
	if got, err := r.Show("one", runner.Options{}); err != nil || got.State["n"] != 20 || got.Status != store.Crashed {
		t.Errorf("the run shows as %+v, %v", got, err)
	}
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	later := open(t, path, sqlite.Options{Owner: "later"})
	if r, err = runner.New(runner.Config{Store: later, Kinds: []runner.Kind{trouble}}); err != nil {
		t.Fatal(err)
	}
	got, err := r.Resume(t.Context(), "one", runner.Options{})
	if err != nil || got.Status != machine.Completed || got.State["n"] != 120 || got.Steps != 22 {
		t.Errorf("resumed it is %+v, %v", got, err)
	}
}
