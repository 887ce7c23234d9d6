// Stand-ins for nodes, models, tools and decisions while a case runs.

package flowtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/virtual"
	"github.com/graphrun/graphrun/tool"
)

// acting is a running case.
type acting struct {
	c     *Case
	cfg   *Config
	clock *virtual.Clock
	stop  context.CancelFunc
	dry   *dryRun // nil in a case

	mu       sync.Mutex
	failures []Failure
	// visits numbers the executions of nodes in subgraphs, by node path and work key. Visits of
	// these nodes restart with each run of the subgraph.
	visits map[string]map[string]int
	calls  map[string]int // by tool
	// unfit lists stubs that break the schema of their node.
	unfit []Failure
}

type actingKey struct{}

// actingIn returns the running case of a context, or nil.
func actingIn(ctx context.Context) *acting {
	a, _ := ctx.Value(actingKey{}).(*acting)
	return a
}

// giveUp fails the case and ends its run.
func (a *acting) giveUp(line int, format string, args ...any) error {
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
	a := actingIn(ctx)
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
	e, problem := s.pickEntry(occasion{a.countVisit(task), task.Attempt, task.Index}, "visit")
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
	return e.toReply()
}

// waitDelay waits for the delay of a stub.
func (a *acting) waitDelay(ctx context.Context, e *entry) error {
	if e.delay <= 0 {
		return nil
	}
	return a.clock.Sleep(ctx, e.delay)
}

// toReply returns the stubbed result, or nil if the node runs.
func (e *entry) toReply() (*runner.Reply, error) {
	switch {
	case e.failure != nil:
		failure := *e.failure
		return nil, &failure
	case e.output != nil:
		return &runner.Reply{Output: e.output.Data()}, nil
	}
	return nil, nil
}

// emitEvents emits the events of a stub.
func (a *acting) emitEvents(task *runner.Task, e *entry) error {
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
func (a *acting) canRun(task *runner.Task) bool {
	switch task.Kind {
	case "graph", "tool", "tools": // what they run has stubs, or fails the case
		return true
	case "llm", "agent":
		return a.c.script != ""
	}
	return slices.Contains(a.cfg.Real, task.Kind)
}

// countVisit returns the number of an execution of a node, from 1.
func (a *acting) countVisit(task *runner.Task) int {
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

// realOnly stops the virtual clock while a handler with effects runs.
type realOnly struct{ handler runner.Handler }

func (h realOnly) Run(ctx context.Context, task *runner.Task) (output any, err error) {
	a := actingIn(ctx)
	if a == nil || !a.runsForReal(task) {
		return h.handler.Run(ctx, task)
	}
	a.clock.Outside(func() { output, err = h.handler.Run(ctx, task) })
	return output, err
}

// runsForReal reports whether a running node has effects.
func (a *acting) runsForReal(task *runner.Task) bool {
	return a.hasStub(task) || a.dry == nil && slices.Contains(a.cfg.Real, task.Kind)
}

// newStandIns returns the stand-ins for models and tools.
func newStandIns() *node.Stand {
	return &node.Stand{
		Model: func(ctx context.Context, task *runner.Task, name string) (string, string, model.Client) {
			switch a := actingIn(ctx); {
			case a == nil || a.dry == nil && a.c.script == "":
				return "", "", nil
			case a.dry != nil:
				return name, "", madeUpModel{a.dry, task}
			default:
				return a.c.script, a.c.dir, nil
			}
		},
		Tool: func(ctx context.Context, task *runner.Task, call handler.ToolCall) (any, bool, error) {
			if a := actingIn(ctx); a != nil {
				return a.callTool(ctx, task, call)
			}
			return nil, false, nil
		},
		Tools: func(ctx context.Context, task *runner.Task, server string) ([]model.Tool, bool) {
			a := actingIn(ctx)
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
func (a *acting) hasStub(task *runner.Task) bool { return a.dry == nil && a.c.stubs[task.Node] != nil }

// callTool answers a call of a tool.
func (a *acting) callTool(ctx context.Context, task *runner.Task, call handler.ToolCall) (output any, handled bool, err error) {
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
	e, problem := s.pickEntry(occasion{number, 1, -1}, "call")
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
	a := actingIn(ctx)
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
	names := collect(choice.Candidates, func(o machine.Option) string { return o.Target })
	if !slices.Contains(names, target) {
		return "", "", a.giveUp(said.line, "%q can't decide for %q (candidates: %s)", task.Node, target, strings.Join(names, ", "))
	}
	return target, "the test says so", nil
}
