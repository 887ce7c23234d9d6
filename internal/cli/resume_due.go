// resume --due: every run whose time has come.

package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// mostDue is how many runs that are due go on at once.
const mostDue = 4

// takenUp is a run that was due, and what became of it.
type takenUp struct {
	RunID   string          `json:"run_id"`
	Graph   string          `json:"graph"`
	Status  machine.Status  `json:"status"`
	Quality machine.Quality `json:"quality"`
	Reason  string          `json:"reason"`
	Steps   int             `json:"steps"`
	Due     *time.Time      `json:"due"`
	// ExitCode is what resume RUN would have exited with; Error, why it could not
	// go on.
	ExitCode int    `json:"exit_code"`
	Error    string `json:"error,omitempty"`

	result  *runner.Result
	skipped bool // somebody else took it up
}

// resumeDue takes up every run whose timeout, wait or retry delay has passed.
func (a *app) resumeDue(ctx context.Context, f *driveFlags) error {
	kept, err := a.openStore()
	if err != nil {
		return err
	}
	kill := make(chan struct{})
	r, err := a.newRunner(kept, kill)
	if err != nil {
		return err
	}
	due, err := a.dueRuns(kept, r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals := a.signals()
	defer signals.stop()
	done := make(chan []takenUp, 1)
	go func() { done <- a.takeUpAll(ctx, r, f, due) }()
	for interrupts := 0; ; {
		select {
		case list := <-done:
			return a.sayTakenUp(list, f.output.value)
		case sig := <-signals.c:
			if interrupts++; interrupts == 1 {
				cancel(&interrupted{sig})
			} else if interrupts == 2 {
				close(kill)
			}
		}
	}
}

// dueRuns are the runs whose time has come: those that pause, and those that only
// waited when their process ended.
func (a *app) dueRuns(kept store.Store, r *runner.Runner) ([]store.RunSummary, error) {
	now := a.Now()
	due, err := kept.List(store.RunFilter{Status: []machine.Status{machine.Paused}, DueBy: now})
	if err != nil {
		return nil, err
	}
	running, err := kept.List(store.RunFilter{Status: []machine.Status{machine.Running}})
	if err != nil {
		return nil, err
	}
	for i := range running {
		line := &running[i]
		if line.StandsAs() != store.Crashed {
			continue
		}
		result, err := r.Show(line.ID, runner.Options{})
		if err == nil && onlyWaited(result) && result.Due != nil && !result.Due.After(now) {
			due = append(due, *line)
		}
	}
	return due, nil
}

// onlyWaited reports whether nothing of a crashed run was at work.
func onlyWaited(result *runner.Result) bool {
	for i := range result.Running {
		if result.Running[i].Doing == "running" {
			return false
		}
	}
	return len(result.Running) > 0
}

// takeUpAll goes on with runs, some at once.
func (a *app) takeUpAll(ctx context.Context, r *runner.Runner, f *driveFlags, due []store.RunSummary) []takenUp {
	out := make([]takenUp, len(due))
	room := make(chan struct{}, mostDue)
	var wait sync.WaitGroup
	for i := range due {
		wait.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			out[i] = a.takeUp(ctx, r, f, &due[i])
		})
	}
	wait.Wait()
	return out
}

func (a *app) takeUp(ctx context.Context, r *runner.Runner, f *driveFlags, line *store.RunSummary) takenUp {
	out := takenUp{RunID: line.ID, Graph: line.Graph, Status: line.StandsAs(), Reason: line.Reason, Steps: line.Steps}
	if ctx.Err() != nil {
		out.ExitCode = exitCancelled
		return out
	}
	opts, err := f.options(nil)
	if err == nil {
		out.result, err = r.Resume(ctx, line.ID, opts)
	}
	if driven := (*store.DrivenError)(nil); errors.As(err, &driven) {
		out.skipped = true
		return out
	}
	if err != nil {
		out.Error, out.ExitCode = err.Error(), exitOf(err)
		return out
	}
	result := out.result
	out.Status, out.Quality, out.Reason, out.Steps, out.Due = result.Status, result.Quality, result.Reason, result.Steps, result.Due
	out.ExitCode = exitOfResult(result, f.strict)
	return out
}

// sayTakenUp prints a line a run, and returns the error that stands for all of them.
func (a *app) sayTakenUp(list []takenUp, form string) error {
	said := []takenUp{}
	for i := range list {
		if !list[i].skipped {
			said = append(said, list[i])
		}
	}
	code := exitOfAll(said)
	if form == "json" {
		return errors.Join(writeJSON(a.Stdout, said, a.StdoutTerminal), silent(code))
	}
	for i := range said {
		text := said[i].Error
		if result := said[i].result; result != nil {
			text = headline(result)
			if result.Due != nil {
				text += ", due at " + result.Due.Local().Format(time.DateTime)
			}
		}
		fmt.Fprintf(a.Stdout, "%s  %s\n", said[i].RunID, text)
	}
	if len(said) == 0 {
		fmt.Fprintln(a.Stderr, "no run is due")
	}
	return silent(code)
}

// exitOfAll is the gravest exit code of several runs. One that completed, or pauses
// again, is as it should be.
func exitOfAll(list []takenUp) int {
	for _, code := range [...]int{exitCancelled, exitFailed, exitUsage, exitInvalid, exitStuck, exitLimit} {
		for i := range list {
			if list[i].ExitCode == code {
				return code
			}
		}
	}
	return exitOK
}
