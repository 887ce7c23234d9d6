package runner_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// forgetfulStore is a store that fails to save sessions if err is set.
type forgetfulStore struct {
	store.Memory
	err error
}

func (s *forgetfulStore) SaveSession(left store.Session) error {
	if s.err != nil {
		return s.err
	}
	return s.Memory.SaveSession(left)
}

// If a driver could not save the session of a completed run, a resume saves it without executing
// anything. It does not save a session twice.
func TestResumeSavesSession(t *testing.T) {
	kept := &forgetfulStore{err: errors.New("the disk is full")}
	cfg := runner.Config{Store: kept}
	f := prepareFlow(t, cfg, "state: {n: {type: integer, default: 0, scope: session}}\nnodes: {a: {kind: set, set: {n: n + 1}}}\nedges: [{from: a, to: END}]")
	opts := runner.Options{RunID: "one", Session: "s"}
	if _, err := f.Run(context.Background(), opts); !errors.Is(err, kept.err) {
		t.Fatalf("the run ends with %v", err)
	}
	kept.err = nil
	wantStatus(t, resume(t, cfg, "one", runner.Options{}), machine.Completed, 1)
	if s, err := kept.Session("s"); err != nil || s.Keys["n"] != 1 || s.Run != "one" {
		t.Errorf("the session is %+v (%v)", s, err)
	}
	lines, err := kept.List(store.RunFilter{})
	if err != nil || len(lines) != 1 || lines[0].Status != machine.Completed || lines[0].Session != "s" {
		t.Errorf("the list is %+v (%v)", lines, err)
	}
	opts.RunID = "two"
	runPrepared(t, f, opts)
	wantStatus(t, resume(t, cfg, "one", runner.Options{}), machine.Completed, 1)
	if s, err := kept.Session("s"); err != nil || s.Keys["n"] != 2 || s.Run != "two" {
		t.Errorf("the session is %+v (%v)", s, err)
	}
}

// Concurrent runs of a session begin with the same state. For each key the run that ends last
// wins.
func TestConcurrentRunsOfSession(t *testing.T) {
	var kept store.Memory
	var other *runner.Flow
	inner := false
	handlers := map[string]runner.HandlerFunc{
		"it": func(ctx context.Context, task *runner.Task) (any, error) {
			if inner {
				return 10, nil
			}
			inner = true
			_, err := other.Run(ctx, runner.Options{RunID: "inner", Session: "s"})
			return 1, err
		},
	}
	cfg := runner.Config{Store: &kept, Kinds: []runner.Kind{workKind(handlers)}}
	f := prepareFlow(t, cfg, "state: {n: {type: integer, default: 0, scope: session}}\nnodes: {a: {kind: work, do: it, writes: {n: n + output}}}\nedges: [{from: a, to: END}]")
	other = prepareFlow(t, cfg, "state: {n: {type: integer, default: 0, scope: session}, m: {type: integer, default: 7, scope: session}}\nnodes: {a: {kind: work, do: it, writes: {n: n + output}}}\nedges: [{from: a, to: END}]")
	runPrepared(t, f, runner.Options{RunID: "outer", Session: "s"})
	if s, err := kept.Session("s"); err != nil || !reflect.DeepEqual(s.Keys, map[string]any{"n": 1, "m": 7}) {
		t.Errorf("the session is %+v (%v)", s, err)
	}
}

// State of a session that does not fit the graph is reported before anything runs, and without secrets.
func TestSessionDoesNotFit(t *testing.T) {
	var kept store.Memory
	save := store.Session{ID: "s", Keys: map[string]any{"pin": canary, "n": 1}, Secret: []string{"pin"}}
	if err := kept.SaveSession(save); err != nil {
		t.Fatal(err)
	}
	f := prepareFlow(t, runner.Config{Store: &kept}, "state: {pin: {type: string, enum: [a], scope: session, secret: true}, n: {type: integer}}\nnodes: {a: {kind: pass}}\nedges: [{from: a, to: END}]")
	_, err := f.Run(context.Background(), runner.Options{RunID: "one", Session: "s"})
	var bad *runner.InputError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), `session "s": key "pin"`) || strings.Contains(err.Error(), "4711") {
		t.Errorf("the error is %v", err)
	}
	if _, err := kept.Run("one"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("there is a run: %v", err)
	}
}
