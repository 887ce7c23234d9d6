package runner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// slowHost executes the tasks of a run one after the other, each in an hour.
type slowHost struct {
	now    time.Time
	jobs   []*runner.Job
	alarms []func()
	drive  *runner.Drive
	held   bool  // it executes no task
	stuck  error // what Wait returns without a task
}

func (h *slowHost) Now() time.Time              { return h.now }
func (h *slowHost) AttachDrive(d *runner.Drive) { h.drive = d }
func (h *slowHost) Start(j *runner.Job) func() {
	h.jobs = append(h.jobs, j)
	return func() { h.jobs = nil }
}

func (h *slowHost) AfterFunc(_ time.Duration, f func()) func() bool {
	at := len(h.alarms)
	h.alarms = append(h.alarms, f)
	return func() bool { h.alarms[at] = nil; return true }
}

func (h *slowHost) Wait(ready func() bool) error {
	for !ready() {
		if len(h.jobs) == 0 || h.held {
			return h.stuck
		}
		job := h.jobs[0]
		h.jobs, h.now = h.jobs[1:], h.now.Add(time.Hour)
		if err := job.Task.Note("worked on " + job.Task.Node); err != nil {
			return err
		}
		job.End(&handler.Attempt{Output: job.Task.Node})
	}
	return nil
}

// A run on a host uses the host's clock and calls no handler. It returns the host's error, and can
// be resumed afterwards.
func TestHost(t *testing.T) {
	const flow = `
state: {all: {type: array, reducer: append}}
nodes:
  a: {kind: work, do: x, writes: {all: output}}
  b: {kind: work, do: x, writes: {all: output}}
  c: {kind: work, do: x, writes: {all: output}}
edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: END}]`
	never := workKind(map[string]runner.HandlerFunc{"x": func(context.Context, *runner.Task) (any, error) {
		t.Error("a handler is called")
		return nil, nil
	}})
	h := &slowHost{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	f := prepareFlow(t, runner.Config{Kinds: []runner.Kind{never}, Host: h}, flow)
	result, err := f.Run(t.Context(), runner.Options{})
	if err != nil || result.Status != machine.Completed || time.Duration(result.Duration) != 3*time.Hour || len(result.State["all"].([]any)) != 3 {
		t.Errorf("the run is %+v (%v), want it completed after 3 tasks and 3h", result, err)
	}

	h = &slowHost{now: h.now, stuck: errors.New("leave"), held: true}
	config := runner.Config{Kinds: []runner.Kind{never}, Host: h, Store: &store.Memory{}}
	f = prepareFlow(t, config, flow)
	if _, err := f.Run(t.Context(), runner.Options{RunID: "r"}); !errors.Is(err, h.stuck) {
		t.Fatalf("the run ends with %v, want %v", err, h.stuck)
	}
	h.held, h.jobs = false, nil
	r, err := runner.New(config)
	if err != nil {
		t.Fatal(err)
	}
	result, err = r.Resume(t.Context(), "r", runner.Options{})
	if err != nil || result.Status != machine.Completed || len(result.Path) != 3 {
		t.Errorf("resumed, the run is %+v (%v), want it completed after 3 steps", result, err)
	}
}
