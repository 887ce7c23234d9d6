// Running cases.

package flowtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/runner/virtual"
	"github.com/graphrun/graphrun/spec"
)

// started returns the virtual time at which every case starts.
func started() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

// limit bounds the real time of a case.
const limit = time.Minute

// Run runs the chosen cases of files, several at once. The results are in the order of the
// files.
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
	results := make([]*Result, len(jobs))
	var next atomic.Int64
	var failed atomic.Bool
	var group sync.WaitGroup
	workers := cfg.Parallel
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	for range min(workers, len(jobs)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(jobs); i = int(next.Add(1)) - 1 {
				if cfg.FailFast && failed.Load() {
					return
				}
				results[i] = jobs[i].file.runCase(&cfg, jobs[i].c)
				if !results[i].Passed {
					failed.Store(true)
				}
			}
		})
	}
	group.Wait()
	for i, r := range results {
		if r == nil { // after the first that failed
			continue
		}
		report.add(jobs[i].file, r)
	}
	for _, c := range report.Coverage { //lint:ignore mapiter each for itself
		c.count()
	}
	return report
}

// runCase runs one case.
func (f *File) runCase(cfg *Config, c *Case) *Result {
	most := cfg.Limit
	if most <= 0 {
		most = limit
	}
	ctx, stop := context.WithTimeout(context.Background(), most)
	defer stop()
	a := &acting{c: c, cfg: cfg, clock: virtual.NewClock(started()), stop: stop, visits: map[string]map[string]int{}, calls: map[string]int{}}
	watch := &watcher{hits: newHits(f.Graph), acting: a}
	opts := c.opts
	opts.Clock, opts.Sink, opts.History = a.clock, watch, true
	if !c.touchesWorld() {
		opts.Secrets = secretsAs(func(name string) string { return "made-up-" + name })
	}
	ctx = context.WithValue(ctx, actingKey{}, a)
	result, err := c.flow.flow.Run(ctx, opts)
	resumed := 0
	for i := 0; err == nil && i < len(c.resumes) && result.Status == machine.Paused && !a.gaveUp(); i++ {
		resumed++
		a.clock.Pass(c.resumes[i].after)
		opts.Answers, opts.Input = c.resumes[i].answers, nil
		result, err = c.flow.runner.Resume(ctx, opts.RunID, opts)
	}
	out := &Result{File: f.Name, Line: c.Line, Case: c.Name, c: c, hits: watch.hits, resumed: resumed, trace: watch.lines, Failures: []Failure{}, Path: []string{}}
	if result != nil {
		if resumed > 0 { // the time before a resume is part of the case
			result.Duration = view.Milliseconds(a.clock.Now().Sub(started()))
		}
		out.Status, out.Steps, out.got = string(result.Status), result.Steps, result
		out.Path = result.Path
	}
	switch {
	case len(a.failures) > 0:
		out.Failures = a.failures
	case err != nil:
		out.Failures = append(out.Failures, Failure{What: "run", Line: c.Line, Got: problemOf(err)})
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		out.Failures = append(out.Failures, Failure{What: "run", Line: c.Line, Got: fmt.Sprintf("the case took longer than %s on the clock of the world and was stopped", most)})
	default:
		out.Failures = append(out.Failures, c.expect.check(result)...)
		if !c.expect.wantsUnfit() {
			out.Failures = append(out.Failures, a.unfit...)
		}
	}
	out.Passed = len(out.Failures) == 0
	return out
}

func (a *acting) gaveUp() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.failures) > 0
}

// problemOf explains why a run did not start.
func problemOf(err error) string {
	var input *runner.InputError
	if errors.As(err, &input) {
		return "the input does not fit the flow: " + input.Error()
	}
	return err.Error()
}

// touchesWorld reports whether a stub is real.
func (c *Case) touchesWorld() bool {
	all := slices.AppendSeq(slices.Collect(maps.Values(c.stubs)), maps.Values(c.tools))
	return slices.ContainsFunc(all, (*stub).isReal)
}

// secretsAs returns a function that gives each secret of a graph a value by its name.
func secretsAs(value func(name string) string) func(g *spec.Graph) map[string]any {
	return func(g *spec.Graph) map[string]any {
		out := make(map[string]any, len(g.Secrets))
		for _, secret := range g.Secrets {
			out[secret.Name.Value] = value(secret.Name.Value)
		}
		return out
	}
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
