// Lists of runs.

package inspect

import (
	"errors"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

// Crashed is what a run is that is running, but without a driver.
const Crashed = string(store.Crashed)

// RunStatuses are what runs can be filtered by, sorted.
func RunStatuses() []string {
	return []string{
		string(machine.Cancelled), string(machine.Completed), Crashed, string(machine.Failed),
		string(machine.Limit), string(machine.Paused), string(machine.Running), string(machine.Stuck),
	}
}

// StatusOf is how a run stands.
func StatusOf(r *store.RunSummary) string { return string(r.StandsAs()) }

// Refresh updates the step counts of runs that have not ended from their journals, because
// drivers save them only now and then. It sets Unreadable of a run whose journal can't be
// read.
func Refresh(r *runner.Runner, runs []store.RunSummary) {
	for i := range runs {
		if one := &runs[i]; one.Status == machine.Running || one.Status == machine.Paused || one.Owner != "" {
			result, err := r.Show(one.ID, runner.Options{})
			switch {
			case err == nil:
				one.Steps = result.Steps
			case !errors.Is(err, store.ErrNoRun): // it may have been deleted meanwhile
				one.Unreadable = err.Error()
			}
		}
	}
}

// Find lists the runs that a filter lets through and that stand in one of some ways
// (RunStatuses; none: in any), the last started first. Status of the filter is not
// looked at.
func Find(s store.Store, filter store.RunFilter, statuses []string) ([]store.RunSummary, error) {
	limit := filter.Limit
	filter.Status = nil
	if len(statuses) > 0 {
		filter.Limit = 0
	}
	for _, status := range statuses {
		if status == Crashed {
			status = string(machine.Running)
		}
		filter.Status = append(filter.Status, machine.Status(status))
	}
	runs, err := s.List(filter)
	if err != nil || len(statuses) == 0 {
		return runs, err
	}
	runs = slices.DeleteFunc(runs, func(r store.RunSummary) bool {
		return !slices.Contains(statuses, StatusOf(&r))
	})
	if limit > 0 && len(runs) > limit {
		runs = runs[:limit]
	}
	return runs, nil
}

// ListedRun is a run in JSON; empty and zero values are absent.
type ListedRun struct {
	RunID      string            `json:"run_id"`
	Graph      string            `json:"graph"`
	File       string            `json:"file"`
	Status     string            `json:"status"`
	Reason     string            `json:"reason,omitempty"`
	Quality    machine.Quality   `json:"quality,omitempty"`
	Unreadable string            `json:"unreadable,omitempty"`
	Steps      int               `json:"steps"`
	StartedAt  time.Time         `json:"started_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
	Labels     map[string]string `json:"labels,omitempty"`
	Session    string            `json:"session,omitempty"`
	Parent     string            `json:"parent,omitempty"`
	ParentStep *int              `json:"parent_step,omitempty"`
	Driver     string            `json:"driver,omitempty"`
}

// ListRuns are runs of a store as JSON.
func ListRuns(runs []store.RunSummary) []ListedRun {
	out := make([]ListedRun, len(runs))
	for i := range runs {
		r := &runs[i]
		out[i] = ListedRun{
			RunID: r.ID, Graph: r.Graph, File: r.File, Status: StatusOf(r), Reason: r.Reason, Quality: r.Quality, Unreadable: r.Unreadable, Steps: r.Steps,
			StartedAt: r.Started.UTC(), UpdatedAt: r.Updated.UTC(), Labels: r.Labels, Session: r.Session,
			Parent: r.Parent, Driver: r.Owner,
		}
		if r.Parent != "" {
			out[i].ParentStep = &r.ParentStep
		}
	}
	return out
}

// DueRuns lists the runs whose timeout, wait or retry delay has passed: those that pause,
// and those that only waited when their process ended.
func DueRuns(r *runner.Runner, s store.Store, now time.Time) ([]store.RunSummary, error) {
	due, err := s.List(store.RunFilter{Status: []machine.Status{machine.Paused}, DueBy: now})
	if err != nil {
		return nil, err
	}
	running, err := s.List(store.RunFilter{Status: []machine.Status{machine.Running}})
	for _, line := range running {
		if line.StandsAs() != store.Crashed {
			continue
		}
		result, err := r.Show(line.ID, runner.Options{})
		if err != nil || result.Due == nil || result.Due.After(now) || len(result.Running) == 0 {
			continue
		}
		if !slices.ContainsFunc(result.Running, func(n view.RunningNode) bool { return n.Doing == "running" }) {
			due = append(due, line)
		}
	}
	return due, err
}
