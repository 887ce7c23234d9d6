// The rules about limits: step-limit-too-low, missing-timeout.

package lint

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/spec"
)

func checkStepLimit(f *facts) {
	for _, n := range f.graph.Nodes {
		f.checkTokens(n)
		f.checkNodeTimes(n)
		f.checkWaits(n)
	}
	limits := &f.graph.Limits
	if f.flow().Anywhere || limits.MaxSteps == 0 {
		return
	}
	path := graphalg.Path(f.flow().Digraph.Next, f.Start(), f.End)
	if steps := len(path) - 1; steps > limits.MaxSteps {
		f.report(limits.MaxStepsSpan, "max_steps is %d, but the shortest path to END takes %s: %s",
			limits.MaxSteps, eval.Count(steps, "step"), f.pathText(path))
		return
	}
	steps := make([]int, len(f.graph.Nodes)) // the fewest steps of each node
	sum := 0
	for v, n := range f.graph.Nodes {
		steps[v] = 1
		if c := f.child(n); c != nil && !n.Each.IsSet() && !f.mayContinueAfterFailure(n) {
			steps[v] += findCostToEnd(c.Graph, func(*spec.Node) int { return 1 })
		}
		sum += steps[v]
	}
	if sum <= limits.MaxSteps {
		return
	}
	run := f.assigned().WithVariables(len(steps)) // the nodes that have run
	for v := range steps {
		run.AddAssignment(v, v)
	}
	run.FailuresAssign = true
	run.Solve()
	for i := range f.End + 1 {
		v, least, at := (i+f.End)%(f.End+1), 0, "it gets to END" // END first
		for u := range steps {
			if u == v || !run.MayBeUnassigned(v, u) {
				least += steps[u]
			}
		}
		if v < f.End {
			at = strconv.Quote(f.Name(v)) + " ends"
		}
		if f.flow().Reached[v] && (v == f.End || !f.graph.Nodes[v].Final) && least > limits.MaxSteps {
			f.report(limits.MaxStepsSpan, "max_steps is %d, but a run has taken at least %s when %s", limits.MaxSteps, eval.Count(least, "step"), at)
			return
		}
	}
}

// findCostToEnd returns the least cost of a path through a graph to END, or 0 if it is unknown.
func findCostToEnd(g *spec.Graph, cost func(n *spec.Node) int) int {
	v := controlflow.NewVertices(g)
	if !v.WellFormed() || slices.ContainsFunc(g.Nodes, choosesNext) {
		return 0
	}
	const never = math.MaxInt / 2
	least := slices.Repeat([]int{never}, v.End+1)
	least[v.Start()] = 0
	for changed := true; changed; {
		changed = false
		for i, from := range v.From {
			after := least[from] + cost(g.Nodes[from])
			if least[from] < never && after >= 0 && after < least[v.To[i]] {
				least[v.To[i]], changed = after, true
			}
		}
	}
	return least[v.End] % never
}

// checkTokens reports calls that are never made: the most tokens that one can take must be left of
// the budget before it (GraphSpec §9).
func (f *facts) checkTokens(n *spec.Node) {
	limits := &f.graph.Limits
	most, _ := n.Field("max_tokens").Data().(int)
	if isModel(n) && limits.MaxTokens > 0 && most >= limits.MaxTokens {
		d := f.report(n.Field("max_tokens").Span, "a call of %q may take %d tokens besides its prompt, and limits.max_tokens is %d: it is never made", n.ID.Value, most, limits.MaxTokens)
		d.Related = append(d.Related, f.related(limits.Span, "the limits of the run"))
	}
}

// checkNodeTimes reports times of a node that other times make pointless.
func (f *facts) checkNodeTimes(n *spec.Node) {
	if after := n.Field("remind").Get("after"); after != nil && n.Timeout > 0 {
		if first, err := time.ParseDuration(after.Text.Value); err == nil && first >= n.Timeout {
			f.report(after.Span, "%q never reminds anybody: its timeout of %s ends first", n.ID.Value, eval.DurationText(n.Timeout))
		}
	}
	for _, limit := range f.listRunLimits() {
		if at := n.ValueOf("timeout"); at != nil && n.Kind.Value != "human" && limit.most > 0 && n.Timeout > limit.most {
			f.report(at.Span, "%q never takes so long: %s of %s comes first", n.ID.Value, limit.name, eval.DurationText(limit.most))
		}
	}
}

// timeLimit is a limit of the time of a node, or 0 for none.
type timeLimit struct {
	name string
	most time.Duration
}

// listRunLimits lists the time limits of the run and of its steps.
func (f *facts) listRunLimits() []timeLimit {
	return []timeLimit{{"limits.timeout", f.graph.Limits.Timeout}, {"limits.step_timeout", f.graph.Limits.StepTimeout}}
}

// checkWaits reports a node that waits longer than it may take, itself or in its subgraph.
func (f *facts) checkWaits(n *spec.Node) {
	own := append(f.listRunLimits(), timeLimit{"its timeout", n.Timeout})
	for _, text := range append(f.listWaitTimes(n), text(n, "for").Value) {
		if wait, err := time.ParseDuration(text); err == nil && n.Kind.Value == "wait" {
			f.reportCutWait(n, "for", fmt.Sprintf("%q waits", n.ID.Value), wait, own)
		}
	}
	c := f.child(n)
	if c == nil || n.Each.IsSet() {
		return
	}
	env := findKnownInputs(c, f.listArguments(n, "with"))
	least := findCostToEnd(c.Graph, func(n *spec.Node) int { return int(findFixedWait(c, n, env)) })
	if n.Timeout == 0 {
		own = append(own, timeLimit{"limits.node_timeout", f.graph.Limits.NodeTimeout})
	}
	f.reportCutWait(n, "graph", fmt.Sprintf("the subgraph of %q waits at least", n.ID.Value), time.Duration(least), own)
}

// reportCutWait reports a wait in a field of a node that a time limit ends.
func (f *facts) reportCutWait(n *spec.Node, field, what string, wait time.Duration, limits []timeLimit) {
	for _, limit := range limits {
		if limit.most > 0 && wait > limit.most {
			d := f.report(n.Field(field).Span, "%s %s, and %s ends it after %s", what, eval.DurationText(wait), limit.name, eval.DurationText(limit.most))
			if limit.most != n.Timeout {
				d.Related = append(d.Related, f.related(f.graph.Limits.Span, "the limits of the run"))
			}
			return
		}
	}
}

// listWaitTimes lists the known times that the expression of a wait node may yield.
func (f *facts) listWaitTimes(n *spec.Node) []string {
	if value := f.boundField(n, "for"); value != nil && n.Kind.Value == "wait" {
		return stringsIn(value.Constants())
	}
	return nil
}

// checkTimeEnds reports a wait for a text that begins or ends as a duration never does.
func (f *facts) checkTimeEnds(n *spec.Node) {
	value := f.boundField(n, "for")
	if n.Kind.Value != "wait" || value == nil || value.Program == nil || value.Program.Tree.Op == eval.TreeConst {
		return
	}
	for i, where := range []string{"begins", "ends"} {
		part := value.Program.Tree
		for part.Op == eval.TreeBinary && part.Name == "+" {
			part = part.Args[i]
		}
		word, isText := part.Value.(string)
		canBeTime := func(other string) bool {
			return i == 0 && spec.IsDuration(word+other) || i == 1 && spec.IsDuration(other+word)
		}
		if part.Op == eval.TreeConst && isText && !slices.ContainsFunc([]string{"", "1", "1s", "s"}, canBeTime) {
			f.report(n.Field("for").Span, "no duration %s with %q; write one such as 90s, 15m or 24h", where, word)
			return
		}
	}
}

// findKnownInputs returns the known inputs and defaults of the keys that no node of a subgraph writes.
func findKnownInputs(c *subgraph.Graph, givens []argument) map[string]any {
	env := map[string]any{}
	for _, key := range c.Graph.State {
		if !key.Required && key.Default != nil {
			env[key.Name.Value] = key.Default.Data()
		}
	}
	for _, in := range givens {
		delete(env, in.name.Value)
		if values := in.constants(); len(values) == 1 {
			env[in.name.Value] = values[0]
		}
	}
	for _, a := range dataflow.Accesses(c.Graph, c.Bound) {
		for _, w := range a.Writes {
			delete(env, w.Name.Value)
		}
	}
	return env
}

// findFixedWait returns the time of a wait node if some values of keys fix it, or 0.
func findFixedWait(c *subgraph.Graph, n *spec.Node, env map[string]any) (wait time.Duration) {
	value := dataflow.FindField(c.Bound.Nodes[n.Index].Config, "for")
	if n.Kind.Value != "wait" || value == nil {
		return 0
	}
	isKnown := true
	value.VisitReads(func(r eval.Read) { isKnown = isKnown && env[r.Path[0]] != nil })
	out, err := value.Eval(new(eval.VM), env)
	if word, isText := out.(string); isText {
		wait, err = time.ParseDuration(word)
	} else if seconds, isNumber := eval.Number(out); isNumber {
		wait = time.Duration(min(seconds, math.MaxInt32) * float64(time.Second))
	}
	if !isKnown || err != nil || wait < 0 || n.Timeout > 0 && n.Timeout < wait {
		return 0
	}
	return wait
}

func checkMissingTimeout(f *facts) {
	isLimited := isLimited(f.graph, map[*spec.Graph]bool{})
	for _, n := range f.graph.Nodes {
		if n.Timeout > 0 || f.graph.HasFaultIn(n.Span) {
			continue
		}
		if v := n.Field("default"); v != nil && n.Kind.Value == "human" {
			f.report(v.Span, "the default of %q is never used: without a timeout, the node waits for a person forever", n.ID.Value)
		}
		if !isLimited && slices.Contains([]string{"agent", "exec", "http", "llm"}, n.Kind.Value) {
			f.report(n.ID.Span, "%q has no time limit; give it a timeout, or set limits.node_timeout or limits.timeout", n.ID.Value)
		}
	}
}

// isLimited reports whether all calls of a graph have a time limit, its own or that of every node
// of the file that runs it. known holds the answers for other graphs.
func isLimited(g *spec.Graph, known map[*spec.Graph]bool) bool {
	limits := &g.Limits
	if limits.NodeTimeout > 0 || limits.Timeout > 0 || limits.StepTimeout > 0 || g.HasFaultIn(limits.Span) {
		return true
	} else if answer, ok := known[g]; ok || g.Ref() == "" {
		return answer
	}
	known[g] = false // the answer if its callers lead back to it
	called := false
	for _, caller := range append([]*spec.Graph{g.FileGraph()}, g.FileGraph().Graphs...) {
		for _, r := range subgraph.References(caller) {
			if r.Value != g.Ref() {
				continue
			}
			called = true
			isBounded := func(n *spec.Node) bool { return text(n, "graph").Span == r.Span && n.Timeout > 0 }
			if !slices.ContainsFunc(caller.Nodes, isBounded) && !isLimited(caller, known) {
				return false
			}
		}
	}
	known[g] = called
	return called
}
