// Lists of runs, questions, models and tools, names of runs, and the meaning of statuses and reasons.

package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/tool"
)

// Crashed is the status of a running run without a driver.
const Crashed = string(store.Crashed)

// Statuses lists all statuses, sorted.
var Statuses = []string{"cancelled", "completed", Crashed, "failed", "limit", "paused", "running", "stuck"}

// RefreshSteps reads the step counts of unfinished runs from their journals, because drivers save
// them rarely. It sets Unreadable of runs whose journals can't be read.
func RefreshSteps(r *runner.Runner, runs []store.RunSummary) {
	for i := range runs {
		one := &runs[i]
		if one.Status != machine.Running && one.Status != machine.Paused && one.Owner == "" {
			continue
		}
		result, err := r.Show(one.ID, runner.Options{})
		switch {
		case err == nil:
			one.Steps = result.Steps
		case !errors.Is(err, store.ErrNoRun): // else it was deleted meanwhile
			one.Unreadable = err.Error()
		}
	}
}

// FindRuns returns the runs that match a filter and have one of the statuses (all if empty), latest
// first. filter.Status must be empty.
func FindRuns(s store.Store, filter store.RunFilter, statuses []string) ([]store.RunSummary, error) {
	if len(statuses) == 0 {
		return s.List(filter)
	}
	limit := filter.Limit
	filter.Limit = 0 // the store does not know which running runs have crashed
	for _, status := range statuses {
		if status == Crashed {
			status = string(machine.Running)
		}
		filter.Status = append(filter.Status, machine.Status(status))
	}
	runs, err := s.List(filter)
	runs = slices.DeleteFunc(runs, func(r store.RunSummary) bool { return !slices.Contains(statuses, string(r.EffectiveStatus())) })
	if limit > 0 && len(runs) > limit {
		runs = runs[:limit]
	}
	return runs, err
}

// ListedRun is the JSON of a run in a list.
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

// ListRuns converts runs to JSON.
func ListRuns(runs []store.RunSummary) []ListedRun {
	out := make([]ListedRun, len(runs))
	for i := range runs {
		r := &runs[i]
		out[i] = ListedRun{
			RunID: r.ID, Graph: r.Graph, File: r.File, Status: string(r.EffectiveStatus()), Reason: r.Reason, Quality: r.Quality, Unreadable: r.Unreadable, Steps: r.Steps,
			StartedAt: r.Started.UTC(), UpdatedAt: r.Updated.UTC(), Labels: r.Labels, Session: r.Session,
			Parent: r.Parent, Driver: r.Owner,
		}
		if r.Parent != "" {
			out[i].ParentStep = &r.ParentStep
		}
	}
	return out
}

// FindDueRuns returns the runs whose timeout, wait or retry delay has passed: paused runs, and runs
// that only waited when their process ended.
func FindDueRuns(r *runner.Runner, s store.Store, now time.Time) ([]store.RunSummary, error) {
	due, err := s.List(store.RunFilter{Status: []machine.Status{machine.Paused}, DueBy: now})
	if err != nil {
		return nil, err
	}
	running, err := s.List(store.RunFilter{Status: []machine.Status{machine.Running}})
	for _, line := range running {
		if line.EffectiveStatus() != store.Crashed {
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

// StatusTerm is a status, a quality or a reason of a run with its meaning.
type StatusTerm struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// StatusTerms lists all statuses, qualities and reasons.
var StatusTerms = []StatusTerm{
	{"completed", "Status: a branch reached END and no branch is left. Exit code 0."},
	{"failed", "Status: a node failed without an edge for the failure, or the run violated a policy. Exit code 1. graphrun why RUN explains it, graphrun resume RUN tries again."},
	{"stuck", "Status: no edge of a node fired although it has some. Exit code 4. graphrun why RUN shows every candidate with the values that it read; add a fallback edge."},
	{"limit", "Status: a limit ended the run. Exit code 5; the reason names the limit. graphrun resume RUN continues and counts anew."},
	{"paused", "Status: the run waits for a person, at a breakpoint or for a time. Exit code 10. graphrun runs pending lists the questions."},
	{"cancelled", "Status: the run was cancelled. Exit code 130. graphrun resume RUN continues it."},
	{"running", "Status: a process drives the run."},
	{"crashed", "Status: the process that drove the run vanished. graphrun resume RUN continues it."},
	{"unreadable", "Status: the journal of the run can't be read; graphrun runs show RUN says why."},
	{"clean", "Quality: every node succeeded, perhaps after retries."},
	{"degraded", "Quality: the run completed through a failure edge, a dropped branch, a fallback decision, or return_last."},
	{"max_steps", "Reason of limit: the run reached limits.max_steps."},
	{"no_edge", "Reason of stuck: no edge of the last node fired."},
	{"node_failed", "Reason of failed: a node failed without an edge for the failure."},
	{"human", "Reason of paused: the run needs answers; graphrun answer RUN NODE=VALUE."},
	{"wait", "Reason of paused: the run waits for a time; graphrun resume --due continues it then."},
	{"pause", "Reason of paused: a breakpoint, or graphrun runs pause; graphrun resume RUN continues it."},
	{"concurrency", "Reason of paused: the run waits for other runs of its group."},
	{"size", "Reason of limit: the state exceeds limits.max_state_bytes."},
}

// Question is the JSON of an open question.
type Question struct {
	Run   string `json:"run"`
	Graph string `json:"graph"`
	// Target is the name of the question in answers.
	Target string `json:"target"`
	view.Pending
	Choices []any      `json:"choices"`
	Due     *time.Time `json:"due"` // null instead of absent
}

// ListQuestions returns the open questions of a run.
func ListQuestions(result *runner.Result) []Question {
	out := []Question{}
	for _, p := range result.Pending {
		document, _ := p.Schema.(map[string]any)
		choices, _ := document["enum"].([]any)
		out = append(out, Question{Run: result.RunID, Graph: result.Graph, Target: p.Target(), Pending: p, Choices: choices, Due: p.Due})
	}
	return out
}

// FindQuestions returns the open questions of unfinished runs that match a filter, oldest run
// first. It calls unreadable for runs whose journals can't be read.
func FindQuestions(r *runner.Runner, s store.Store, filter store.RunFilter, unreadable func(id string, err error)) ([]Question, error) {
	filter.Status = []machine.Status{machine.Paused, machine.Running}
	runs, err := s.List(filter)
	out := []Question{}
	for _, line := range slices.Backward(runs) {
		result, err := r.Show(line.ID, runner.Options{})
		switch {
		case err == nil:
			out = append(out, ListQuestions(result)...)
		case !errors.Is(err, store.ErrNoRun): // it may have been deleted meanwhile
			unreadable(line.ID, err)
		}
	}
	return out, err
}

// nameError says that a name matches no run or several. It wraps store.ErrNoRun.
type nameError struct{ error }

func (nameError) Unwrap() error { return store.ErrNoRun }

func nameErrorf(format string, args ...any) error { return nameError{fmt.Errorf(format, args...)} }

const (
	// lastRun names the latest run, unless a run has that id.
	lastRun       = "last"
	maxListed     = 200 // runs that suggestions consider
	maxCandidates = 8   // runs that an error about an ambiguous name lists
)

// FindRun reads the record of a run by its id, a unique prefix of it, or "last". An error for an
// unknown run has a suggestion and wraps store.ErrNoRun. where names the store in messages.
func FindRun(s store.Store, name, where string) (store.RunRecord, error) {
	id, err := CompleteID(s, name)
	if err != nil {
		return store.RunRecord{}, err
	}
	record, err := s.Run(id)
	if !errors.Is(err, store.ErrNoRun) {
		return record, err
	}
	ids, err := listIDs(s, store.RunFilter{Limit: maxListed})
	switch {
	case err != nil:
		return record, err
	case len(ids) == 0:
		return record, nameErrorf("no run %q: %s keeps none yet", id, where)
	}
	if near := suggest.New(ids).Closest(id); near != "" {
		return record, nameErrorf("no run %q in %s; did you mean %q?", id, where, near)
	}
	return record, nameErrorf("no run %q in %s; the latest is %q", id, where, ids[0])
}

// CompleteID resolves a name to the id of a run. It returns the name itself if no run matches.
func CompleteID(s store.Store, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	exact, err := listIDs(s, store.RunFilter{ID: name, Limit: 1})
	if err != nil || len(exact) == 1 {
		return name, err
	}
	filter := store.RunFilter{Prefix: name, Limit: maxCandidates + 1}
	if name == lastRun {
		filter = store.RunFilter{Limit: 1}
	}
	ids, err := listIDs(s, filter)
	switch {
	case err != nil || len(ids) == 0:
		return name, err
	case len(ids) == 1:
		return ids[0], nil
	}
	more := ""
	if len(ids) > maxCandidates {
		ids, more = ids[:maxCandidates], ", …"
	}
	slices.Sort(ids)
	return "", nameErrorf("%q begins the ids of several runs: %s; a longer prefix, or the whole id, is needed", name, strings.Join(ids, ", ")+more)
}

func listIDs(s store.Store, filter store.RunFilter) ([]string, error) {
	runs, err := s.List(filter)
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	return ids, err
}

// KnownModel is a row of the price table. Prices are in US dollars per million tokens.
type KnownModel struct {
	Model       string  `json:"model"`
	Window      *int    `json:"window"`     // tokens, or null if unknown
	MaxOutput   *int    `json:"max_output"` // tokens of an answer, or null if unknown
	Input       float64 `json:"input"`
	CachedInput float64 `json:"cached_input"`
	CacheWrite  float64 `json:"cache_write"`
	Output      float64 `json:"output"`
	// FromTokens and UpToTokens bound the prompt lengths that the prices hold for, or are null.
	FromTokens *int   `json:"from_tokens"`
	UpToTokens *int   `json:"up_to_tokens"`
	Date       string `json:"date"`
	Source     string `json:"source"`
}

// ListModels returns the sorted price table. Other prices for long prompts have a row of their own.
func ListModels() []KnownModel {
	var out []KnownModel
	for _, r := range price.Table() {
		m := KnownModel{
			Model: r.Model, Window: nullIfZero(r.Window), MaxOutput: nullIfZero(r.MaxOutput), Input: r.Input, CachedInput: r.CachedInput,
			CacheWrite: r.CacheWrite, Output: r.Output, UpToTokens: nullIfZero(r.UpTo), Date: r.Date, Source: r.Source,
		}
		if r.Long { // it follows the model's other row
			before := &out[len(out)-1]
			m.FromTokens, m.Window = new(*before.UpToTokens+1), before.Window
		}
		out = append(out, m)
	}
	return out
}

func nullIfZero(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// ListedTool is a tool, or a server of tools that failed, with its error.
type ListedTool struct {
	Name        string         `json:"name"`
	Kind        string         `json:"kind"` // exec, graph, mcp, resource or prompt
	Description string         `json:"description,omitempty"`
	Approve     string         `json:"approve,omitempty"`
	Parameters  map[string]any `json:"parameters,omitempty"`
	Error       string         `json:"error,omitempty"`
}

// ListTools lists the tools of a registry, and the resources and prompts of its servers. failed
// says that a server could not be asked.
func ListTools(ctx context.Context, registry *tool.Registry, warn func(string)) (list []ListedTool, failed bool) {
	_, _ = registry.ListTools(ctx, warn, registry.Names()) // starts all servers; errors are reported below
	list = []ListedTool{}
	for _, name := range registry.Names() {
		decl, _ := registry.FindTool(name)
		kind := "mcp"
		switch {
		case decl.Exec != nil:
			kind = "exec"
		case decl.Graph != "":
			kind = "graph"
		}
		tools, err := registry.ListTools(ctx, warn, []string{name})
		for _, t := range tools {
			list = append(list, ListedTool{Name: t.Name, Kind: kind, Description: t.Description, Approve: decl.Approve, Parameters: t.Parameters})
		}
		var offers []tool.Offer
		if err == nil {
			offers, err = registry.ListOffers(ctx, warn, name)
		}
		if err != nil {
			failed = true
			list = append(list, ListedTool{Name: name, Kind: kind, Error: err.Error()})
		}
		for _, o := range offers {
			list = append(list, ListedTool{Name: o.Name, Kind: o.Kind, Description: o.Description})
		}
	}
	return list, failed
}
