// The rules about conditions of edges: constant-condition, shadowed-edge, missing-fallback.

package lint

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// judgement holds the conditions that a run tries after one outcome of a node, and their verdicts.
type judgement struct {
	site       site
	edges      [][]int // of each condition: one, or all of a declaration
	conditions []*eval.Program
	result     solve.Result
}

// solveDecisions solves every decision of the graph, in the order of its nodes.
func (f *facts) solveDecisions() []judgement {
	var all []judgement
	for v, groups := range f.flow().Groups {
		for _, kind := range []controlflow.Kind{controlflow.ByGuard, controlflow.OnFailure} {
			d := judgement{site: site{f: f, node: f.graph.Nodes[v], failed: kind == controlflow.OnFailure}}
			for i := range groups {
				if groups[i].Kind == kind {
					d.addConditions(groups[i].Edges)
				}
			}
			if len(d.edges) > 0 {
				trees := collect(d.conditions, func(p *eval.Program) *eval.Tree { return p.Tree })
				d.result = f.solver.Solve(solve.Problem{Conditions: trees, Domain: d.site.domain, All: d.site.node.Routing == "all"})
				all = append(all, d)
			}
		}
	}
	return all
}

// addConditions takes the edges of a group that have a condition, one declaration at a time.
func (d *judgement) addConditions(edges []int) {
	for _, same := range d.site.f.SplitByDeclaration(edges) {
		if when := d.site.f.bound.Edges[same[0]].When; when != nil {
			d.edges, d.conditions = append(d.edges, same), append(d.conditions, when)
		}
	}
}

// edge returns the first edge of a condition.
func (d *judgement) edge(i int) *spec.Edge { return d.site.f.graph.Edges[d.edges[i][0]] }

// span returns the position of a condition without white space around it.
func (d *judgement) span(i int) spec.Span {
	when := d.edge(i).When
	text := strings.TrimSpace(when.Value)
	from := strings.Index(when.Value, text)
	return when.At(from, from+len(text))
}

// findDead returns the edges that provably never fire, because of some condition of their node.
func (f *facts) findDead() []bool {
	dead := make([]bool, len(f.graph.Edges))
	for _, d := range f.judgements() {
		for i, v := range d.result.Verdicts {
			for _, e := range d.edges[i] {
				dead[e] = v.Never || v.Shadowed
			}
		}
		if d.result.Exhaustive {
			for _, e := range d.listUnconditionalEdges() {
				dead[e] = true
			}
		}
	}
	return dead
}

// listUnconditionalEdges lists the edges that fire after a success only when no condition holds.
func (d *judgement) listUnconditionalEdges() (edges []int) {
	if d.site.failed || d.site.node.OnMaxVisits == "skip" {
		return nil
	}
	for _, g := range d.site.f.flow().Groups[d.site.node.Index] {
		if g.Kind == controlflow.ByDefault || g.Kind == controlflow.ByDecision {
			edges = append(edges, g.Edges...)
		}
	}
	return edges
}

// listClaims returns the outcomes of conditions that read only known names.
func (f *facts) listClaims(a arc, known func(name string) bool) (out []solve.Claim) {
	for _, o := range f.listOutcomes(a) {
		if !slices.ContainsFunc(o.program.Reads, func(r eval.Read) bool { return !known(r.Path[0]) }) {
			out = append(out, solve.Claim{Tree: o.program.Tree, Holds: o.holds})
		}
	}
	return out
}

// canAllHold reports whether all claims can hold together after a node, or anywhere if n is nil.
func (f *facts) canAllHold(n *spec.Node, claims []solve.Claim) bool {
	at := site{f: f, node: n, failed: n == nil}
	return len(claims) == 0 || f.solver.CanHold(claims, at.domain)
}

func checkConstantConditions(f *facts) {
	constant := map[int]bool{} // edges
	for _, d := range f.judgements() {
		for k, v := range d.result.Verdicts {
			isMeant := d.site.node.Routing == "all" && len(d.conditions[k].Reads) == 0 // the edge fires together with others
			if !v.Always && !v.Never || v.Always && isMeant {
				continue
			}
			why := ""
			if len(v.Reasons) > 0 {
				why = ": " + strings.Join(v.Reasons, ", ")
			}
			f.report(d.span(k), "condition is always %t%s", v.Always, why)
			for _, e := range d.edges[k] {
				constant[e] = true
			}
		}
	}
	f.checkExcludedConditions(constant)
	f.checkComputedConjunctions()
	f.checkComparisons(constant)
}

// checkComputedConjunctions reports values that nodes compute by conditions that contradict each other.
func (f *facts) checkComputedConjunctions() {
	isOther := func(name string) bool { return f.graph.Key(name) == nil }
	for _, u := range f.uses().All {
		t := u.Program.Tree
		if u.Field != "set" && u.Field != "writes" || t.Op != eval.TreeBinary || t.Name != "and" {
			continue
		}
		reads := listNamesRead(t)
		if len(reads) > 0 && !slices.ContainsFunc(reads, isOther) && !f.canAllHold(nil, []solve.Claim{{Holds: true, Tree: t}}) {
			f.report(u.Span(), "this value is always false: its conditions contradict each other")
		}
	}
}

// checkExcludedConditions reports conditions and operands that earlier edges on every path exclude, and adds
// their edges to those with a constant condition.
func (f *facts) checkExcludedConditions(constant map[int]bool) {
	size := len(f.graph.Nodes) + len(f.graph.Edges)
	for i, d := range f.judgements() {
		v := d.site.node.Index
		if f.flow().Anywhere || i > maxPolicies && i*size > maxPolicyWork {
			return
		}
		for k, when := range d.conditions {
			var findExcluded func(t *eval.Tree) *eval.Tree
			findExcluded = func(t *eval.Tree) *eval.Tree {
				if reads := listNamesRead(t); len(reads) > 0 && f.neverHolds(t, reads, v, false) {
					return t
				}
				if t.Op != eval.TreeBinary || t.Name != "and" && t.Name != "or" {
					return nil
				}
				return cmp.Or(findExcluded(t.Args[0]), findExcluded(t.Args[1]))
			}
			if constant[d.edges[k][0]] || !f.flow().Reached[v] {
				continue
			}
			if t := findExcluded(when.Tree); t != nil {
				what := "condition"
				if t != when.Tree {
					what = strconv.Quote(when.SourceText(t)) + " in this condition"
				}
				f.report(d.span(k), "%s is always false: earlier edges on every path here exclude it", what)
				for _, e := range d.edges[k] {
					constant[e] = true
				}
			}
		}
	}
}

// listNamesRead returns the first names of the paths that a tree reads, or nil if a part is unknown.
func listNamesRead(t *eval.Tree) (keys []string) {
	known := true
	t.Each(func(part *eval.Tree) {
		known = known && part.Op != eval.TreeOther
		if part.Op == eval.TreePath {
			keys = append(keys, part.Path[0])
		}
	})
	if !known {
		return nil
	}
	return keys
}

// checkPointlessConditions reports conditions of edges that lead where the edge without a condition leads.
func checkPointlessConditions(f *facts) {
	for _, d := range f.judgements() {
		n := d.site.node
		groups := f.flow().Groups[n.Index]
		at := slices.IndexFunc(groups, func(g controlflow.Group) bool { return g.Kind == controlflow.ByDefault })
		if d.site.failed || n.Routing == "all" || choosesNext(n) || at < 0 || f.flow().HasGroup(n.Index, controlflow.ByDecision) {
			continue
		}
		other := f.graph.Edges[groups[at].Edges[0]]
		isSame := func(k int) bool {
			e, v := d.edge(k), d.result.Verdicts[k]
			return len(d.edges[k])+len(groups[at].Edges) == 2 && e.To.Value == other.To.Value && e.To.Value != spec.END &&
				e.Transform == nil && other.Transform == nil && e.Label.Value == other.Label.Value && !v.Always && !v.Never
		}
		k := len(d.edges)
		for k > 0 && isSame(k-1) {
			k--
		}
		isCase := func(earlier *eval.Program) bool { // it compares a value that earlier edges compare
			return slices.ContainsFunc(earlier.Reads, func(r eval.Read) bool { return d.conditions[k].Uses(r.Path[0]) })
		}
		if k == len(d.edges) || slices.ContainsFunc(d.conditions[:k], isCase) {
			continue
		}
		what := "every edge of %q leads to %q"
		if k > 0 {
			what = "without it, the edge of %q leads to %q too"
		}
		found := f.report(d.edge(k).To.Span, "this condition makes no difference: "+what, n.ID.Value, other.To.Value)
		found.Related = append(found.Related, f.related(other.To.Span, "the other edge"))
	}
}

func checkShadowedEdges(f *facts) {
	f.reportEdgesBesideDecision()
	for _, d := range f.judgements() {
		always := slices.IndexFunc(d.result.Verdicts, func(v solve.Verdict) bool { return v.Always })
		for k, v := range d.result.Verdicts {
			isRepeated := func(by int) bool { // rule duplicate-edge
				return d.edge(k).To.Value == d.edge(by).To.Value && strings.TrimSpace(d.edge(k).When.Value) == strings.TrimSpace(d.edge(by).When.Value)
			}
			if !v.Shadowed || len(v.By) == 1 && isRepeated(v.By[0]) {
				continue
			}
			names := collect(v.By, func(by int) string { return strconv.Quote(d.edge(by).When.Value) })
			found := f.report(d.span(k), "this edge never fires: whenever its condition holds, %s", describeEarlier(names))
			for _, by := range v.By {
				found.Related = append(found.Related, f.related(d.span(by), "this edge is tried before"))
			}
		}
		for _, i := range d.listUnconditionalEdges() {
			// An edge for every outcome still fires after a failure.
			if e := f.graph.Edges[i]; always >= 0 && e.Condition != "always" && e.Decl >= 0 {
				found := f.report(e.To.Span, "this edge never fires: the condition of an earlier one is always true")
				found.Related = append(found.Related, f.related(d.span(always), "this is always true"))
			}
		}
	}
}

// describeEarlier says which earlier conditions hold, shortened if they are many.
func describeEarlier(names []string) string {
	const most = 4
	if len(names) == 1 {
		return "the earlier " + names[0] + " holds too"
	} else if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return "one of the earlier " + strings.Join(names, ", ") + " holds too"
}

// reportEdgesBesideDecision reports edges beside a model's decision that are not its fallback.
func (f *facts) reportEdgesBesideDecision() {
	decides := map[string]*spec.Edge{}
	for _, d := range f.listDecisions() {
		decides[d.edges[0].From.Value] = d.edges[0]
	}
	for _, e := range f.graph.Edges {
		candidate := decides[e.From.Value]
		if candidate == nil || e.Condition != "on_success" || e.Fallback || e.Decl < 0 || f.graph.Node(e.From.Value).OnMaxVisits == "skip" {
			continue
		}
		found := f.report(e.To.Span, "this edge never fires: a model decides between others; mark it with fallback: true if it is for decisions that fail")
		found.Related = append(found.Related, f.related(candidate.To.Span, "this is a candidate of the decision"))
	}
}

func checkMissingFallbacks(f *facts) {
	f.reportNoWayOut()
	for i := range f.judgements() {
		d := &f.judgements()[i]
		if d.site.failed || d.result.Exhaustive || choosesNext(d.site.node) || f.flow().HasGroup(d.site.node.Index, controlflow.ByDefault, controlflow.ByDecision) {
			continue
		}
		path, values, open := f.findStuckRun(d)
		if path == nil && open {
			if values = f.findUncoveredValue(d); len(values) > 0 {
				path = f.findPathTo(d.site.node.Index)
			}
		}
		readsOutput := slices.ContainsFunc(d.conditions, func(p *eval.Program) bool { return p.Uses("output") })
		if path == nil || len(values) == 0 && readsOutput {
			continue
		}
		id, when := d.site.node.ID, ""
		if len(values) > 0 {
			when = " when " + strings.Join(values, " and ") + ","
		}
		found := f.report(id.Span, "no edge of %q fires%s on the path %s: all conditions are false, and there is no edge without one", id.Value, when, f.pathText(path))
		for k := range d.edges {
			found.Related = append(found.Related, f.related(d.span(k), "this is false"))
		}
	}
}

// findUncoveredValue returns a value of the node's result for which no condition of a decision
// holds, as in `output = "no"`, or nil. The conditions may read nothing else.
func (f *facts) findUncoveredValue(d *judgement) []string {
	var read []string
	var trees []*eval.Tree
	for _, p := range d.conditions {
		trees = append(trees, p.Tree)
		for _, r := range p.Reads {
			if read != nil && !slices.Equal(read, r.Path) {
				return nil
			}
			read = r.Path
		}
	}
	if f.found.HasErrors() || read == nil || read[0] != "output" && (f.graph.Key(read[0]) == nil || !f.alwaysWrites(d.site.node, f.keyOf[read[0]])) {
		return nil
	}
	for _, value := range d.site.domain(read, eval.Any()).Values {
		only := func([]string, eval.Type) solve.Domain { return solve.Domain{Values: []any{value}} }
		verdicts := f.solver.Solve(solve.Problem{Conditions: trees, Domain: only}).Verdicts
		if !slices.ContainsFunc(verdicts, func(v solve.Verdict) bool { return !v.Never }) {
			return []string{solve.PathName(read) + " = " + domain.Literal(value)}
		}
	}
	return nil
}

// findStuckRun returns the path of a run that gets stuck because no condition of a decision holds, and
// the values that the conditions read, as in "n = 3". open says that such a run may exist unfound.
func (f *facts) findStuckRun(d *judgement) (path []int, values []string, open bool) {
	seen := map[*eval.Program]map[string]any{} // what each condition read last
	isStuck := func(r *explore.Run) bool {
		how := r.State.Failure
		if r.State.Status != machine.Stuck || how.Node != d.site.node.ID.Value || len(how.Candidates) == 0 || how.Candidates[0].Edge < 0 {
			return false // or it is a join whose branches can't arrive
		}
		skipped := func(n machine.Note) bool { return n.Skipped } // a skipped node tries no conditions
		return !slices.ContainsFunc(r.State.Notes(), skipped)
	}
	q := explore.Question{Found: isStuck, Hopeless: f.hopelessAfter(d.site.node.Index), Evaluates: func(_ *explore.Run, p *eval.Program, env map[string]any) {
		if slices.Contains(d.conditions, p) {
			seen[p] = maps.Clone(env)
		}
	}}
	a := f.findRun(f.findPathTo(d.site.node.Index), q)
	if guide := f.findPathOfRounds(d); !a.Found && a.Gap != "" && guide != nil {
		q.Repeat = true
		a = f.findRun(guide, q)
	}
	for _, p := range d.conditions {
		for _, read := range p.Reads {
			if read.Path[0] == "output" && domain.OutputPart(d.site.node, read.Path[1:]) == nil {
				continue // of unknown type
			}
			text := solve.PathName(read.Path) + " = " + domain.Literal(valueAt(seen[p], read.Path))
			if !slices.Contains(values, text) {
				values = append(values, text)
			}
		}
	}
	return a.Witness, values, a.Gap != ""
}

// findPathOfRounds returns a path to a decision that repeats a cycle until a count of visits is reached.
func (f *facts) findPathOfRounds(d *judgement) []int {
	const most = 20.
	v, rounds := d.site.node.Index, 0.
	for _, p := range d.conditions {
		p.Tree.Each(func(t *eval.Tree) {
			if n, ok := readNumber(t); ok && n <= most {
				rounds = max(rounds, n)
			}
		})
		for _, read := range p.Reads {
			n := f.graph.Node(read.Path[len(read.Path)-1])
			if n == nil || read.Path[0] != "visits" || rounds == 0 {
				continue
			}
			if round := f.findPathThrough(v, n.Index, v); round != nil {
				return append(f.findPathTo(v), slices.Repeat(round[1:], int(rounds))...)
			}
		}
	}
	return nil
}

// reportNoWayOut reports nodes that only have edges for failures, and nodes whose edges all have
// conditions although a visit limit may skip them.
func (f *facts) reportNoWayOut() {
	isOther := func(e int) bool { return f.graph.Edges[e].Condition != "on_failure" }
	for v, n := range f.graph.Nodes {
		edges := f.Out[v]
		if choosesNext(n) {
			continue
		}
		if len(edges) > 0 && !slices.ContainsFunc(edges, isOther) {
			d := f.report(n.ID.Span, "no edge of %q fires when it succeeds: all are for its failure", n.ID.Value)
			d.Related = append(d.Related, f.related(f.graph.Edges[edges[0]].To.Span, "this is for its failure"))
		}
		if n.OnMaxVisits == "skip" && n.MaxVisits > 0 && f.flow().Cyclic[v] && !f.flow().HasGroup(v, controlflow.ByDefault) {
			f.report(n.ID.Span, "no edge of %q fires when a visit beyond max_visits is skipped: only edges without a condition are tried then", n.ID.Value)
		}
	}
}
