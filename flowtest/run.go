// Running cases: stand-ins for nodes, models, tools and decisions, and the events of a run.

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

	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/runner/virtual"
	"github.com/graphrun/graphrun/spec"
	"github.com/graphrun/graphrun/tool"
)

// startTime returns the virtual time at which every case starts.
func startTime() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

// caseTimeout bounds the real time of a case.
const caseTimeout = time.Minute

// Run runs the chosen cases, several at once. The results are in the order of the files.
func Run(cfg Config, files []*File) *Report {
	report := &Report{Files: len(files), Coverage: map[string]*Coverage{}}
	var cases []*Case
	for _, f := range files {
		for _, c := range f.Cases {
			if cfg.Run == nil || cfg.Run.MatchString(c.Name) {
				cases = append(cases, c)
			}
		}
	}
	workers := cfg.Parallel
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	results := make([]*Result, len(cases))
	slots := make(chan struct{}, workers)
	var failed atomic.Bool
	var group sync.WaitGroup
	for i, c := range cases {
		slots <- struct{}{}
		if cfg.FailFast && failed.Load() {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			if results[i] = c.expect.file.runCase(&cfg, c); !results[i].Passed {
				failed.Store(true)
			}
		})
	}
	group.Wait()
	for i, r := range results {
		if r != nil { // nil if FailFast stopped before
			report.addResult(cases[i].expect.file, r)
		}
	}
	for _, c := range report.Coverage { //lint:ignore mapiter entries are independent
		c.countParts()
	}
	return report
}

func (f *File) runCase(cfg *Config, c *Case) *Result {
	ctx, stop := context.WithTimeout(context.Background(), caseTimeout)
	defer stop()
	a := &runningCase{c: c, cfg: cfg, clock: virtual.NewClock(startTime()), stop: stop, visits: map[string]map[string]int{}, calls: map[string]int{}}
	watch := &watcher{hits: newHits(f.Graph), running: a}
	opts := c.opts
	opts.Clock, opts.Sink, opts.History = a.clock, watch, true
	if !c.hasRealStub() {
		opts.Secrets = makeSecrets(func(name string) string { return "made-up-" + name })
	}
	ctx = context.WithValue(ctx, runningCaseKey{}, a)
	result, err := c.flow.flow.Run(ctx, opts)
	resumed := 0
	for i := 0; err == nil && i < len(c.resumes) && result.Status == machine.Paused && !a.hasGivenUp(); i++ {
		resumed++
		a.clock.AdvanceBy(c.resumes[i].after)
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
		out.Failures = append(out.Failures, Failure{What: "run", Line: c.Line, Got: fmt.Sprintf("the case was stopped after %s of real time", caseTimeout)})
	default:
		out.Failures = append(out.Failures, c.expect.check(result)...)
		if !c.expect.expectsInvalidOutput() {
			out.Failures = append(out.Failures, a.invalidStubs...)
		}
	}
	out.Passed = len(out.Failures) == 0
	return out
}

func (a *runningCase) hasGivenUp() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.failures) > 0
}

// hasRealStub reports whether a stub runs its node.
func (c *Case) hasRealStub() bool {
	stubs := slices.AppendSeq(slices.Collect(maps.Values(c.stubs)), maps.Values(c.tools))
	return slices.ContainsFunc(stubs, (*stub).isReal)
}

// makeSecrets returns a function that gives each secret of a graph a value by its name.
func makeSecrets(value func(name string) string) func(g *spec.Graph) map[string]any {
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
	hits    *hits
	lines   []string
	running *runningCase
	failed  string // the node that failed last
}

func (w *watcher) Event(e *runner.Event) error {
	if w.running.hasGivenUp() { // the run is being stopped
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
		if w.failOnStubExpr(e) {
			return nil
		}
		w.failed = e.Node
		if e.Error != nil && e.Error.Kind == "invalid_output" && w.running.c.stubs[e.Node] != nil {
			w.recordInvalidStub(e)
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

// failOnStubExpr fails the case, and returns true, if the expression of a stub has failed.
func (w *watcher) failOnStubExpr(e *runner.Event) bool {
	s := w.running.c.stubs[e.Node]
	if s == nil || e.Error == nil || e.Error.Kind != "expression" {
		return false
	}
	text, isStub := strings.CutPrefix(e.Error.Message, exprsKey+".")
	number, text, _ := strings.Cut(text, ": ")
	at, err := strconv.Atoi(number)
	if !isStub || err != nil || at >= len(s.exprs) {
		return false
	}
	_ = w.running.giveUp(s.exprs[at].line, "the expression of the stub of %q has no value: %s", e.Node, text)
	return true
}

// recordInvalidStub records that the output of a stub breaks the schema of its node.
func (w *watcher) recordInvalidStub(e *runner.Event) {
	s := w.running.c.stubs[e.Node]
	failure := Failure{What: "stub", Line: s.line, Got: "the stub of " + strconv.Quote(e.Node) + " does not fit: " + e.Error.Message}
	if !s.isReal() && !slices.Contains(w.running.invalidStubs, failure) {
		w.running.invalidStubs = append(w.running.invalidStubs, failure)
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

func shorten(text string) string { return terminal.Truncate(terminal.Line(text), 100) }

// runningCase is the state of a case while it runs.
type runningCase struct {
	c     *Case
	cfg   *Config
	clock *virtual.Clock
	stop  context.CancelFunc
	dry   *dryRun // nil in a case

	mu       sync.Mutex
	failures []Failure
	// visits numbers executions in subgraphs, where visits restart, by node path and work key.
	visits map[string]map[string]int
	calls  map[string]int // by tool
	// invalidStubs lists stubs that break the schema of their node.
	invalidStubs []Failure
}

type runningCaseKey struct{}

// findRunningCase returns the running case of a context, or nil.
func findRunningCase(ctx context.Context) *runningCase {
	a, _ := ctx.Value(runningCaseKey{}).(*runningCase)
	return a
}

// giveUp fails the case and ends its run.
func (a *runningCase) giveUp(line int, format string, args ...any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.failures) == 0 {
		a.failures = append(a.failures, Failure{What: "stub", Line: line, Got: fmt.Sprintf(format, args...)})
	}
	a.stop()
	return &runner.Failure{Kind: "cancelled", Message: "the case can't go on"}
}

// answerNode returns the stubbed result of a node.
func answerNode(ctx context.Context, task *runner.Task) (*runner.Reply, error) {
	a := findRunningCase(ctx)
	if a == nil {
		return nil, nil
	}
	if a.dry != nil {
		return a.dry.planNode(ctx, task)
	}
	s := a.c.stubs[task.Node]
	if s == nil {
		if a.canRun(task) {
			return nil, nil
		}
		return nil, a.giveUp(a.c.Line, "no stub for %q, a node of kind %s", task.Node, task.Kind)
	}
	e, problem := s.pickEntry(attemptKey{a.countVisit(task), task.Attempt, task.Index}, "visit")
	if problem != "" {
		return nil, a.giveUp(s.line, "%s", problem)
	}
	if err := a.emitEvents(task, e); err != nil {
		return nil, err
	}
	if err := a.waitDelay(ctx, e); err != nil {
		return nil, err
	}
	if e.key != "" {
		values, _ := task.Config[exprsKey].(map[string]any)
		return &runner.Reply{Output: values[e.key]}, nil
	}
	return e.buildReply()
}

func (a *runningCase) waitDelay(ctx context.Context, e *entry) error {
	if e.delay <= 0 {
		return nil
	}
	return a.clock.Sleep(ctx, e.delay)
}

// buildReply returns the stubbed result, or nil if the node must run.
func (e *entry) buildReply() (*runner.Reply, error) {
	switch {
	case e.failure != nil:
		failure := *e.failure
		return nil, &failure
	case e.output != nil:
		return &runner.Reply{Output: e.output.Data()}, nil
	}
	return nil, nil
}

func (a *runningCase) emitEvents(task *runner.Task, e *entry) error {
	if len(e.events) == 0 {
		return nil
	}
	problem, err := node.EmitEvents(task, e.events)
	if problem != "" {
		return a.giveUp(e.line, "the stub of %q has an invalid event: %s", task.Node, problem)
	}
	return err
}

// canRun reports whether a node without a stub can run, because its effects have stand-ins.
func (a *runningCase) canRun(task *runner.Task) bool {
	switch task.Kind {
	case "graph", "tool", "tools": // the nodes that they run have stubs, or fail the case
		return true
	case "llm", "agent":
		return a.c.script != ""
	}
	return slices.Contains(a.cfg.Real, task.Kind)
}

// countVisit returns the number of an execution of a node, from 1.
func (a *runningCase) countVisit(task *runner.Task) int {
	if !strings.Contains(task.Node, "/") || task.Index >= 0 {
		return task.Visit
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := a.visits[task.Node]
	if seen == nil {
		seen = map[string]int{}
		a.visits[task.Node] = seen
	}
	if seen[task.Key] == 0 {
		seen[task.Key] = len(seen) + 1
	}
	return seen[task.Key]
}

// runStub fails: answerNode has answered for a stub, unless it is real.
func runStub(context.Context, *runner.Task) (any, error) {
	return nil, &runner.Failure{Kind: "internal", Message: "a stub can't run for real"}
}

// realTimeHandler stops the virtual clock while a handler with effects runs.
type realTimeHandler struct{ handler runner.Handler }

func (h realTimeHandler) Run(ctx context.Context, task *runner.Task) (output any, err error) {
	a := findRunningCase(ctx)
	if a == nil || !a.runsForReal(task) {
		return h.handler.Run(ctx, task)
	}
	a.clock.RunInRealTime(func() { output, err = h.handler.Run(ctx, task) })
	return output, err
}

// runsForReal reports whether a running node has effects.
func (a *runningCase) runsForReal(task *runner.Task) bool {
	return a.hasStub(task) || a.dry == nil && slices.Contains(a.cfg.Real, task.Kind)
}

// newStandIns returns the stand-ins for models and tools.
func newStandIns() *node.StandIns {
	return &node.StandIns{
		Model: func(ctx context.Context, task *runner.Task, name string) (string, string, model.Client) {
			switch a := findRunningCase(ctx); {
			case a == nil || a.dry == nil && a.c.script == "":
				return "", "", nil
			case a.dry != nil:
				return name, "", madeUpModel{a.dry, task}
			default:
				return a.c.script, a.c.dir, nil
			}
		},
		Tool: func(ctx context.Context, task *runner.Task, call handler.ToolCall) (any, bool, error) {
			if a := findRunningCase(ctx); a != nil {
				return a.callTool(ctx, task, call)
			}
			return nil, false, nil
		},
		Tools: func(ctx context.Context, task *runner.Task, server string) ([]model.Tool, bool) {
			a := findRunningCase(ctx)
			if a == nil || a.hasStub(task) {
				return nil, false
			}
			var out []model.Tool
			for _, name := range sortedNames(a.c.tools) {
				if strings.HasPrefix(name, server+".") {
					out = append(out, model.Tool{Name: name, Parameters: map[string]any{"type": "object"}})
				}
			}
			return out, true
		},
	}
}

// hasStub reports whether a running node has a stub, which must be real.
func (a *runningCase) hasStub(task *runner.Task) bool {
	return a.dry == nil && a.c.stubs[task.Node] != nil
}

func (a *runningCase) callTool(ctx context.Context, task *runner.Task, call handler.ToolCall) (output any, handled bool, err error) {
	s := a.c.tools[call.Name]
	if s == nil {
		switch {
		case a.hasStub(task) || isGraphTool(task, call.Name):
			return nil, false, nil
		case a.dry != nil:
			return explore.AnyText, true, nil
		}
		return nil, true, a.giveUp(a.c.Line, "no stub for the tool %q, which %q calls: give its result under tools", call.Name, task.Node)
	}
	a.mu.Lock()
	a.calls[call.Name]++
	number := a.calls[call.Name]
	a.mu.Unlock()
	e, problem := s.pickEntry(attemptKey{number, 1, -1}, "call")
	if problem != "" {
		return nil, true, a.giveUp(s.line, "%s", problem)
	}
	if err := a.waitDelay(ctx, e); err != nil {
		return nil, true, err
	}
	switch {
	case e.real:
		return nil, false, nil
	case e.failure != nil:
		return nil, true, &tool.Error{Message: e.failure.Message, Details: e.failure.Details}
	case e.output == nil:
		return nil, true, a.giveUp(e.line, "the stub of the tool %q has no result: give output, error or real", call.Name)
	}
	return e.output.Data(), true, nil
}

// isGraphTool reports whether a tool runs a graph, whose nodes have stubs.
func isGraphTool(task *runner.Task, name string) bool {
	for i := range task.Graph.Tools {
		if t := &task.Graph.Tools[i]; t.Key.Value == name {
			return t.Value.Get("graph") != nil
		}
	}
	return false
}

// decider decides by the case, or by the script.
type decider struct{ models runner.Decider }

// Decide chooses the target of a decision.
func (d decider) Decide(ctx context.Context, task *runner.Task, choice handler.Choice) (target, reasoning string, err error) {
	a := findRunningCase(ctx)
	if a == nil {
		return d.models.Decide(ctx, task, choice)
	}
	if a.dry != nil {
		return choice.Candidates[0].Target, "made up: the first candidate", nil
	}
	said := a.c.decide[task.Node]
	switch {
	case said == nil && a.c.script != "":
		return d.models.Decide(ctx, task, choice)
	case said == nil:
		return "", "", a.giveUp(a.c.Line, "no decision for %q: say which way it goes with decide: {%s: TARGET}, or give models", task.Node, task.Node)
	}
	visit := 1
	if said.list {
		visit = a.countVisit(task)
	}
	if visit > len(said.targets) {
		return "", "", a.giveUp(said.line, "no decision for visit %d of %q: its list has %d", visit, task.Node, len(said.targets))
	}
	target = said.targets[visit-1]
	names := mapSlice(choice.Candidates, func(o machine.Option) string { return o.Target })
	if !slices.Contains(names, target) {
		return "", "", a.giveUp(said.line, "%q can't decide for %q (candidates: %s)", task.Node, target, strings.Join(names, ", "))
	}
	return target, "the test says so", nil
}
