// Running cases, and the events of their runs.

package flowtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/runner/virtual"
	"github.com/graphrun/graphrun/spec"
)

// startTime returns the virtual time at which every case starts.
func startTime() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

// limit bounds the real time of a case.
const limit = time.Minute

// Run runs the chosen cases, several at once. The results are in the order of the files.
func Run(cfg Config, files []*File) *Report {
	report := &Report{Files: len(files), Coverage: map[string]*Coverage{}}
	type job struct {
		file *File
		c    *Case
	}
	var jobs []job
	for _, f := range files {
		for _, c := range f.Cases {
			if cfg.Run == nil || cfg.Run.MatchString(c.Name) {
				jobs = append(jobs, job{f, c})
			}
		}
	}
	workers := cfg.Parallel
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	results := make([]*Result, len(jobs))
	room := make(chan struct{}, workers)
	var failed atomic.Bool
	var group sync.WaitGroup
	for i, job := range jobs {
		room <- struct{}{}
		if cfg.FailFast && failed.Load() {
			break
		}
		group.Go(func() {
			defer func() { <-room }()
			if results[i] = job.file.runCase(&cfg, job.c); !results[i].Passed {
				failed.Store(true)
			}
		})
	}
	group.Wait()
	for i, r := range results {
		if r != nil { // nil if FailFast stopped before
			report.addResult(jobs[i].file, r)
		}
	}
	for _, c := range report.Coverage { //lint:ignore mapiter each for itself
		c.countParts()
	}
	return report
}

// runCase runs one case.
func (f *File) runCase(cfg *Config, c *Case) *Result {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	a := &acting{c: c, cfg: cfg, clock: virtual.NewClock(startTime()), stop: stop, visits: map[string]map[string]int{}, calls: map[string]int{}}
	watch := &watcher{hits: newHits(f.Graph), acting: a}
	opts := c.opts
	opts.Clock, opts.Sink, opts.History = a.clock, watch, true
	if !c.hasRealStub() {
		opts.Secrets = nameSecrets(func(name string) string { return "made-up-" + name })
	}
	ctx = context.WithValue(ctx, actingKey{}, a)
	result, err := c.flow.flow.Run(ctx, opts)
	resumed := 0
	for i := 0; err == nil && i < len(c.resumes) && result.Status == machine.Paused && !a.hasGivenUp(); i++ {
		resumed++
		a.clock.Pass(c.resumes[i].after)
		opts.Answers, opts.Input = c.resumes[i].answers, nil
		result, err = c.flow.runner.Resume(ctx, opts.RunID, opts)
	}
	out := &Result{File: f.Name, Line: c.Line, Case: c.Name, c: c, hits: watch.hits, resumed: resumed, trace: watch.lines, Failures: []Failure{}, Path: []string{}}
	if result != nil {
		if resumed > 0 { // the time before a resume is part of the case
			result.Duration = view.Milliseconds(a.clock.Now().Sub(startTime()))
		}
		out.Status, out.Steps, out.got = string(result.Status), result.Steps, result
		out.Path = result.Path
	}
	switch {
	case len(a.failures) > 0:
		out.Failures = a.failures
	case err != nil:
		problem := err.Error()
		if _, isInput := errors.AsType[*runner.InputError](err); isInput {
			problem = "the input does not fit the flow: " + problem
		}
		out.Failures = append(out.Failures, Failure{What: "run", Line: c.Line, Got: problem})
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		out.Failures = append(out.Failures, Failure{What: "run", Line: c.Line, Got: fmt.Sprintf("the case was stopped after %s of real time", limit)})
	default:
		out.Failures = append(out.Failures, c.expect.check(result)...)
		if !c.expect.allowsUnfit() {
			out.Failures = append(out.Failures, a.unfit...)
		}
	}
	out.Passed = len(out.Failures) == 0
	return out
}

func (a *acting) hasGivenUp() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.failures) > 0
}

// hasRealStub reports whether a stub runs its node.
func (c *Case) hasRealStub() bool {
	stubs := slices.AppendSeq(slices.Collect(maps.Values(c.stubs)), maps.Values(c.tools))
	return slices.ContainsFunc(stubs, (*stub).isReal)
}

// nameSecrets returns a function that gives each secret of a graph a value by its name.
func nameSecrets(value func(name string) string) func(g *spec.Graph) map[string]any {
	return func(g *spec.Graph) map[string]any {
		out := make(map[string]any, len(g.Secrets))
		for _, secret := range g.Secrets {
			out[secret.Name.Value] = value(secret.Name.Value)
		}
		return out
	}
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// watcher is the sink of a case's run.
type watcher struct {
	hits   *hits
	lines  []string
	acting *acting
	failed string // the node that failed last
}

// Event records an event.
func (w *watcher) Event(e *runner.Event) error {
	if w.acting.hasGivenUp() { // the run is being stopped
		return nil
	}
	own := !strings.Contains(e.Node, "/")
	switch e.Type {
	case runner.NodeStarted:
		if w.failed == e.Node {
			w.failed = ""
		}
		if own {
			w.hits.countNode(e.Node)
		}
	case runner.EdgesResolved:
		if own {
			w.hits.countEdges(e)
		}
		if len(e.Next) > 0 || w.failed != e.Node { // the failure has a line already
			w.lines = append(w.lines, formatStep(e))
		}
	case runner.NodeRetrying, runner.NodeFailed:
		if w.failsOnStub(e) {
			return nil
		}
		w.failed = e.Node
		if e.Error != nil && e.Error.Kind == "invalid_output" && w.acting.c.stubs[e.Node] != nil {
			w.noteUnfit(e)
		}
		if e.Error != nil {
			failed := "failed"
			if e.Type == runner.NodeRetrying {
				failed += " and is tried again in " + e.NextDelay.String()
			}
			w.lines = append(w.lines, fmt.Sprintf("%6.0d %s %s: %s", e.Step, e.Node, failed, shorten(e.Error.Kind+": "+e.Error.Message)))
		}
	case runner.NodeEvent:
		if e.Said != nil && e.Said.Type == "question" {
			w.lines = append(w.lines, "       "+e.Node+" asks: "+shorten(e.Said.Question.Prompt))
		}
	case runner.RunFinished:
		if e.Result != nil {
			w.lines = append(w.lines, "       "+string(e.Result.Status)+" ("+e.Result.Reason+")")
		}
	}
	return nil
}

// failsOnStub fails the case if the expression of a stub has failed.
func (w *watcher) failsOnStub(e *runner.Event) bool {
	s := w.acting.c.stubs[e.Node]
	if s == nil || e.Error == nil || e.Error.Kind != "expression" {
		return false
	}
	text, isStub := strings.CutPrefix(e.Error.Message, exprsKey+".")
	number, text, _ := strings.Cut(text, ": ")
	at, err := strconv.Atoi(number)
	if !isStub || err != nil || at >= len(s.exprs) {
		return false
	}
	_ = w.acting.giveUp(s.exprs[at].line, "the expression of the stub of %q has no value: %s", e.Node, text)
	return true
}

// noteUnfit records that a stub breaks the schema of its node.
func (w *watcher) noteUnfit(e *runner.Event) {
	s := w.acting.c.stubs[e.Node]
	failure := Failure{What: "stub", Line: s.line, Got: "the stub of " + strconv.Quote(e.Node) + " does not fit: " + e.Error.Message}
	if !s.isReal() && !slices.Contains(w.acting.unfit, failure) {
		w.acting.unfit = append(w.acting.unfit, failure)
	}
}

// formatStep formats a line of the trace. The number of step 0 is blank.
func formatStep(e *runner.Event) string {
	line := fmt.Sprintf("%6.0d %s", e.Step, e.Node)
	if e.Visit > 1 {
		line += " #" + strconv.Itoa(e.Visit)
	}
	if len(e.Next) > 0 {
		line += " → " + strings.Join(e.Next, ", ")
	}
	for i := range e.Candidates {
		if c := &e.Candidates[i]; c.Fired && c.When != "" {
			line += "  (" + shorten(c.When) + ")"
		}
	}
	return line
}

// shorten truncates a text to fit on a line.
func shorten(text string) string { return terminal.Truncate(terminal.Line(text), 100) }
