// Generating a small set of cases that fires as many edges as possible.

package flowtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// Generated is a set of cases for a flow.
type Generated struct {
	// Text is the test file.
	Text string
	// Cases counts the cases, Edges the edges that they fire, Total all edges.
	Cases, Edges, Total int
	// Missing names the edges without a case, with the reason.
	Missing []string
	// NoValue lists the required inputs without a known valid value, if there are no cases.
	NoValue []string
}

const (
	maxShrinks = 600             // runs to simplify the cases
	maxPauses  = 20              // of a case at breakpoints
	searchTime = 5 * time.Minute // only slow machines reach it
)

// Generate finds a small set of cases that fire the edges of a flow. The explorer finds runs with
// inputs, results, answers and failures, and each run is tried as a case. flow is the name of the
// flow in the test file.
func Generate(ctx context.Context, cfg Config, g *spec.Graph, flow string) (*Generated, error) {
	s, err := newSearch(cfg, g)
	if err != nil {
		return nil, err
	}
	limited, stop := context.WithTimeout(ctx, searchTime)
	defer stop()
	missing := s.exploreEdges(limited)
	chosen := s.simplify(limited, s.chooseRuns())
	out := &Generated{Cases: len(chosen), Total: len(g.Edges)}
	fired := map[int]bool{}
	for _, t := range chosen {
		maps.Copy(fired, t.fired)
	}
	out.Edges = len(fired)
	for i, name := range EdgeNames(g) {
		if !fired[i] {
			out.Missing = append(out.Missing, name+": "+missing[i])
		}
	}
	if len(chosen) == 0 {
		out.NoValue = s.listUnmetInputs()
	}
	out.Text = formatTestFile(chosen, flow, out.Missing)
	return out, nil
}

// execution names one execution of a node.
type execution struct {
	node  string
	visit int
}

// choice is the outcome of an execution in a run, or a resume at a breakpoint.
type choice struct {
	execution
	key string // of the case: stubs, answers, decide or resume
	// value is a stub, an answer or a target, or the time in which a person does not answer.
	value, usual any
}

// triedCase is the run of a case.
type triedCase struct {
	input   map[string]any
	choices []choice // in the order of the run
	result  *runner.Result
	failed  map[execution]bool
	fired   map[int]bool // edges
	resumed int          // how often the run was resumed; -1 before it has run
}

// search looks for the cases of one flow.
type search struct {
	graph *spec.Graph
	file  *File
	world *explore.World
	runs  []*triedCase
}

func newSearch(cfg Config, g *spec.Graph) (*search, error) {
	cfg.Run = nil
	cfg.Check = func(string, []byte) (*spec.Graph, spec.Diagnostics) { return g, nil }
	f := &File{Name: g.File.Name, Flow: g.File.Name, cfg: cfg}
	if err := f.prepare(nil); err != nil {
		return nil, err
	}
	if f.found.HasErrors() {
		return nil, &spec.InvalidError{Findings: f.found}
	}
	world, err := explore.NewWorld(g, specKinds(cfg.Kinds))
	return &search{graph: g, file: f, world: world}, err
}

// exploreEdges looks for a run for each edge. It returns, by edge, why there is none.
func (s *search) exploreEdges(ctx context.Context) map[int]string {
	fired, missing, w := map[int]bool{}, map[int]string{}, newGuards(&s.file.cfg, s.graph)
	keep := func(t *triedCase) {
		if t != nil && len(t.fired) > 0 {
			s.runs = append(s.runs, t)
			maps.Copy(fired, t.fired)
		}
	}
	if a := s.world.FindRun(nil, func(r *explore.Run) bool { return r.State.HasEnded() }); a.Found {
		keep(s.tryCase(a.Input, s.convertChoices(a.Chosen)))
	}
	for i, e := range s.graph.Edges {
		if fired[i] || ctx.Err() != nil {
			continue
		}
		a := s.world.FindFiringRun(i)
		if a.Found {
			keep(s.tryCase(a.Input, s.convertChoices(a.Chosen)))
		}
		switch {
		case w.neverHolds(i):
			missing[i] = strconv.Quote(e.When.Value) + " never holds"
		case a.Found:
			missing[i] = "a run fires it that no case can show"
		case a.Gap == "":
			missing[i] = "no run fires it"
		default:
			missing[i] = "no run was found that fires it: " + a.Gap
		}
	}
	return missing
}

// convertChoices converts the choices of the explorer. The last choice of an execution counts.
func (s *search) convertChoices(chosen []explore.Chosen) []choice {
	var out []choice
	for _, c := range chosen {
		n, usual := s.graph.Nodes[c.Node], s.world.UsualResult(c.Node)
		own := choice{execution: execution{n.ID.Value, c.Visit}, key: "stubs", value: map[string]any{"output": c.Output}, usual: map[string]any{"output": usual}}
		switch {
		case c.Decision:
			first := slices.IndexFunc(s.graph.Edges, func(e *spec.Edge) bool { return e.From.Value == own.node && e.Condition == "llm_decide" })
			own.key, own.value, own.usual = "decide", c.Target, s.graph.Edges[first].To.Value
		case n.Kind.Value == "human":
			if own.key, own.value, own.usual = "answers", c.Output, usual; c.Absent {
				own.value = n.Timeout
				if missing := n.Field("default"); missing != nil {
					own.value = missing.Data()
				}
			}
		case c.Failure != nil:
			own.value = s.stubFailure(c.Failure)
		}
		if same := slices.IndexFunc(out, func(o choice) bool { return o.execution == own.execution && o.key == own.key }); same >= 0 {
			out[same] = own
		} else {
			out = append(out, own)
		}
	}
	return out
}

// stubFailure returns a stub that fails with the message and details that the graph reads.
func (s *search) stubFailure(of *runner.Failure) map[string]any {
	isRead := func(path string) bool { return strings.Contains(string(s.graph.File.Src), path) }
	failure, details := map[string]any{"kind": of.Kind}, maps.Clone(of.Details)
	if isRead("error.message") {
		failure["message"] = of.Message
	}
	maps.DeleteFunc(details, func(name string, _ any) bool { return !isRead("details." + name) })
	if len(details) > 0 {
		failure["details"] = details
	}
	return map[string]any{"error": failure}
}

// tryCase runs a case with planned choices, and resumes it at breakpoints. It returns nil if the
// case is invalid.
func (s *search) tryCase(input map[string]any, plan []choice) *triedCase {
	for range maxPauses {
		t := s.runPlan(input, plan)
		if t == nil || t.result.PausedAt == nil {
			return t
		}
		node, reached := t.result.PausedAt.Nodes[0], map[execution]bool{}
		at := execution{node: node, visit: 1}
		for _, h := range t.result.History {
			reached[execution{h.Node, h.Visit}] = true
			if h.Node == node {
				at.visit = h.Visit + 1
			}
		}
		if t.result.PausedAt.Phase == "after" {
			at.visit--
		}
		next := slices.IndexFunc(t.choices, func(c choice) bool { return !reached[c.execution] })
		if next < 0 {
			next = len(t.choices)
		}
		plan = slices.Insert(t.choices, next, choice{execution: at, key: "resume"})
	}
	return nil
}

// runPlan runs a case with planned choices. It returns nil if the case is invalid.
func (s *search) runPlan(input map[string]any, plan []choice) *triedCase {
	c := s.file.compileGenerated(&triedCase{input: input, choices: plan, resumed: -1})
	if c == nil {
		return nil
	}
	r := s.file.runCase(&s.file.cfg, c)
	if r.got == nil || hasFatal(r.Failures) {
		return nil
	}
	t := &triedCase{input: input, choices: slices.Clone(plan), resumed: r.resumed}
	order := func(c choice) int {
		i := slices.IndexFunc(r.got.History, func(h view.HistoryRecord) bool { return h.Node == c.node && h.Visit == c.visit })
		if i < 0 {
			return len(r.got.History)
		}
		return i
	}
	slices.SortStableFunc(t.choices, func(a, b choice) int { return order(a) - order(b) })
	t.recordResult(r.got)
	return t
}

// recordResult records how a run ended, and the edges it fired if a case should show it.
func (t *triedCase) recordResult(r *runner.Result) {
	t.result, t.fired, t.failed = r, map[int]bool{}, map[execution]bool{}
	if r.Status == machine.Cancelled || r.Error != nil && r.Error.Kind == "expression" {
		return
	}
	for _, h := range r.History {
		if h.Error != nil {
			if h.Error.Kind == "invalid_output" || h.Error.Kind == "expression" {
				return
			}
			t.failed[execution{h.Node, h.Visit}] = true
		}
	}
	for _, e := range r.Edges {
		if e.Fired > 0 {
			t.fired[e.Index] = true
		}
	}
}

// compileGenerated compiles one generated case, or returns nil if it is invalid.
func (f *File) compileGenerated(t *triedCase) *Case {
	var b strings.Builder
	b.WriteString("name: case\nexpect: update\n")
	t.writeCase(&b, "")
	f.src, f.found = spec.NewFile(f.Name, []byte(b.String())), nil
	root, found := spec.Read(f.Name, f.src.Src, "a case is a map", namedCase())
	if root == nil || found.HasErrors() {
		return nil
	}
	c := &Case{Name: "case", value: root, own: root, at: root.Span}
	if f.compile(c); f.found.HasErrors() {
		return nil
	}
	return c
}

// listUnmetInputs describes each required input for which no valid value is known.
func (s *search) listUnmetInputs() []string {
	var out []string
	for _, key := range s.graph.State {
		if _, unmet := explore.Sample(key.Schema); key.Required && unmet != "" {
			out = append(out, fmt.Sprintf("cannot make up a value for input %q; its schema is %s", key.Name.Value, unmet))
		}
	}
	return out
}

// cost estimates how hard a case is to read.
func (t *triedCase) cost() int {
	cost := 2*len(t.result.Path) + len(t.choices) + 2*len(t.input)
	if len(t.input) > 0 {
		cost += 2
	}
	for _, c := range t.choices {
		if !reflect.DeepEqual(c.value, c.usual) {
			cost++
		}
		stub, _ := c.value.(map[string]any)
		if _, absent := c.value.(time.Duration); absent || stub["error"] != nil {
			cost += 4
		}
	}
	return cost
}

// dropFired returns the edges of a set that no given run fires.
func dropFired(edges map[int]bool, runs ...*triedCase) map[int]bool {
	left := maps.Clone(edges)
	for _, t := range runs {
		maps.DeleteFunc(left, func(e int, _ bool) bool { return t.fired[e] })
	}
	return left
}

// chooseRuns returns a small set of runs that fires the edges of all runs.
func (s *search) chooseRuns() []*triedCase {
	all := map[int]bool{}
	for _, t := range s.runs {
		maps.Copy(all, t.fired)
	}
	var out []*triedCase
	for left := all; len(left) > 0; left = dropFired(all, out...) {
		out = append(out, s.findBest(left))
	}
	for i := range out { // replace it by the simplest that suffices
		out[i] = s.findBest(dropFired(all, slices.Concat(out[:i], out[i+1:])...))
	}
	slices.SortStableFunc(out, func(a, b *triedCase) int { return len(a.result.Path) - len(b.result.Path) })
	return out
}

// findBest returns the simplest run that fires the most of some edges.
func (s *search) findBest(edges map[int]bool) *triedCase {
	return slices.MinFunc(s.runs, func(a, b *triedCase) int {
		return cmp.Or(len(dropFired(edges, a))-len(dropFired(edges, b)), a.cost()-b.cost())
	})
}

// simplify drops inputs and unusual outcomes that no edge needs.
func (s *search) simplify(ctx context.Context, runs []*triedCase) []*triedCase {
	left := maxShrinks
	out := slices.Clone(runs)
	for i, t := range runs {
		try := func(input map[string]any, plan []choice) bool {
			if left--; left < 0 || ctx.Err() != nil {
				return false
			}
			other := s.tryCase(input, plan)
			if other == nil || len(other.fired) == 0 || len(dropFired(t.fired, other)) > 0 || other.cost() >= t.cost() {
				return false
			}
			t, out[i] = other, other
			return true
		}
		var drop func(names []string)
		drop = func(names []string) { // all at once, or each half
			input := maps.Clone(t.input)
			maps.DeleteFunc(input, func(name string, _ any) bool { return slices.Contains(names, name) })
			if half := len(names) / 2; len(names) > 0 && !try(input, t.choices) && half > 0 {
				drop(names[:half])
				drop(names[half:])
			}
		}
		drop(slices.DeleteFunc(sortedNames(t.input), func(name string) bool {
			key := s.graph.Key(name)
			return key != nil && key.Required
		}))
		for k := 0; k < len(t.choices); k++ {
			if !reflect.DeepEqual(t.choices[k].value, t.choices[k].usual) {
				plan := slices.Clone(t.choices)
				plan[k].value = plan[k].usual
				try(t.input, plan)
			}
		}
	}
	return out
}
