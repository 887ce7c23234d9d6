// The rules about branches and joins: parallel-conflict, accidental-fanout, missing-join,
// join-never-fires, join-without-fanout.

package lint

import (
	"cmp"
	"maps"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// maxRivals bounds the writers, and the targets of a fan-out, that are compared with each other.
const maxRivals = 64

func checkParallelConflict(f *facts) {
	if !f.flow().FansOut {
		return
	}
	writers := make([][]writer, len(f.graph.State)) // in the order of the file
	for _, w := range f.writes() {
		if dataflow.Replaces(f.graph.State[w.Key]) {
			writers[w.Key] = append(writers[w.Key], w)
		}
	}
	for _, list := range writers {
		for i := 1; i < len(list); i++ {
			f.reportWriteConflict(list[max(0, i-maxRivals):i], list[i])
		}
	}
	seen := map[[2]int]bool{} // node and key
	for u, r := range f.uses().Reads() {
		if u.Node < 0 {
			continue
		}
		if n := f.outputOf(r); n != nil {
			if fork, ok := f.findFork(n.Index, u.Node); ok {
				d := f.report(u.SpanOf("nodes"), "%q reads the output of %q, which runs in another branch", f.Name(u.Node), n.ID.Value)
				d.Related = append(d.Related, f.relateFork(fork))
			}
		}
		if key, ok := f.keyOf[r.Path[0]]; ok && !seen[[2]int{u.Node, key}] {
			seen[[2]int{u.Node, key}] = f.reportReadConflict(u, writers[key])
		}
	}
}

func (f *facts) reportWriteConflict(earlier []writer, w writer) {
	for _, e := range earlier {
		fork, ok := f.findFork(e.node, w.node)
		if !ok {
			continue
		}
		outcome := "only one write is kept where the branches meet"
		switch p := controlflow.ParallelOf(f.graph, fork); {
		case p.Conflict == "error":
			outcome = "with conflict: error the run fails where the branches meet"
		case p.ConflictSpan.To > 0:
			continue
		}
		d := f.report(w.Name.Span, "%q and %q can run at the same time and both write %q; %s", f.Name(e.node), f.Name(w.node), w.Name.Value, outcome)
		d.Related = append(d.Related, f.related(e.Name.Span, "the other write"), f.relateFork(fork))
		return
	}
}

func (f *facts) reportReadConflict(u *dataflow.Use, writers []writer) bool {
	for _, w := range writers[:min(len(writers), maxRivals)] {
		if w.node == u.Node {
			return false // reportWriteConflict compares the writes
		}
		fork, ok := f.findFork(w.node, u.Node)
		leads := func(n *spec.Node) bool { return f.leadsTo(n.Index, u.Node) }
		if !ok || f.mayBeOpen(u, w.Key) && (!u.Optional || slices.ContainsFunc(f.writersOf()[w.Name.Value], leads)) {
			continue
		}
		d := f.report(u.SpanOf(w.Name.Value), "%q reads %q, but not what %q writes in another branch", f.Name(u.Node), w.Name.Value, f.Name(w.node))
		d.Related = append(d.Related, f.related(w.Name.Span, "the write"), f.relateFork(fork))
		return true
	}
	return false
}

func (f *facts) relateFork(fork int) spec.Related {
	return f.related(f.graph.Nodes[fork].ID.Span, "the branches begin here")
}

// findFork returns the fan-out that surely lets two different nodes run at the same time.
func (f *facts) findFork(x, y int) (fork int, ok bool) {
	fork, ok = f.surePairs().Fork(x, y)
	return fork, ok && x != y
}

// startsBoth reports whether a group of a fan-out can start branches at two of its targets.
func (f *facts) startsBoth(fork int, g *controlflow.Group, x, y int) bool {
	if f.isDead(g) || len(g.Targets) > maxRivals {
		return false
	}
	leads := func(i int) bool { return g.Subset && (g.Targets[i] == x || g.Targets[i] == y) }
	claims := f.listEdgeClaims(g, leads, leads)
	return len(claims) != 2 || f.canAllHold(f.graph.Nodes[fork], claims)
}

// listEdgeClaims returns the outcomes of the conditions of some edges of a group.
func (f *facts) listEdgeClaims(g *controlflow.Group, of, holds func(i int) bool) (out []solve.Claim) {
	for i, e := range g.Edges {
		if when := f.bound.Edges[e].When; when != nil && of(i) {
			out = append(out, solve.Claim{Tree: when.Tree, Holds: holds(i)})
		}
	}
	return out
}

func checkAccidentalFanout(f *facts) {
	for v, g := range f.flow().AllGroups() {
		if f.flow().Reached[v] && g.Kind == controlflow.ByDefault {
			f.reportFanout(v, g)
		}
	}
}

// reportFanout reports the first edge without a condition that seems to be an alternative.
func (f *facts) reportFanout(v int, g *controlflow.Group) {
	guarded := f.flow().HasGroup(v, controlflow.ByGuard, controlflow.ByDecision)
	first, target := f.graph.Edges[g.Edges[0]], f.To[g.Edges[0]]
	fails := func(t int) bool { return t < f.End && f.graph.Nodes[t].Kind.Value == "fail" }
	for _, i := range g.Edges[1:] {
		e, to, why := f.graph.Edges[i], f.To[i], ""
		switch {
		case e.Decl == first.Decl || e.Decl < 0 || to == target:
			continue
		case guarded:
			why = " when no condition holds"
		case to == f.End || target == f.End:
			why = ", and END ends only its own branch"
		case fails(to) != fails(target):
			why = ", and a fail node ends what the other branch began"
		case f.flow().Cyclic[v] && f.sharesCycle(v, to) != f.sharesCycle(v, target):
			why = ", and one of them leads back"
		default:
			continue
		}
		if f.isMeantToJoin(v, g) {
			return
		}
		d := f.report(e.To.Span, "the edges of %q to %q and %q both fire%s; give one a condition, or write one edge with a list of targets", f.Name(v), first.To.Value, e.To.Value, why)
		d.Related = append(d.Related, f.related(first.To.Span, "the other edge"))
		return
	}
}

// isMeantToJoin reports whether the branches of a group meet at a join, or the file has settings for them.
func (f *facts) isMeantToJoin(v int, g *controlflow.Group) bool {
	declared, _ := f.graph.Settings()["parallel"].(map[string]any)
	if f.graph.Nodes[v].Parallel != nil || declared["join"] != nil || f.flow().Anywhere {
		return true
	}
	joined := map[int]int{}
	for _, first := range g.Targets {
		if first == f.End {
			continue
		}
		for to := range f.countStepsFrom(first, v) { //lint:ignore mapiter each node for itself
			if joined[to]++; joined[to] > 1 && f.graph.Nodes[to].Join != nil {
				return true
			}
		}
	}
	return false
}

// checkMissingJoin reports the first node of each fan-out that several branches reach without a join.
func checkMissingJoin(f *facts) {
	for fork, g := range f.flow().AllGroups() {
		auto, why := controlflow.ParallelOf(f.graph, fork).Join == "auto", "they do not join by themselves"
		if auto {
			why = "not all branches can reach it"
		}
		if !f.flow().Reached[fork] || len(g.Targets) < 2 || g.Subset || f.isDead(g) || auto && len(g.Targets) == 2 {
			continue // a node that both can reach joins them
		}
		from, longest := map[int][]int{}, map[int]int{} // by node that branches reach
		branches := slices.DeleteFunc(slices.Clone(g.Targets), func(first int) bool { return first == f.End })
		for _, first := range branches {
			for v, steps := range f.countStepsFrom(first, fork) { //lint:ignore mapiter each node for itself
				from[v], longest[v] = append(from[v], first), max(longest[v], steps)
			}
		}
		best := -1
		for _, v := range slices.Sorted(maps.Keys(from)) {
			if len(from[v]) > 1 && f.graph.Nodes[v].Join == nil && (!auto || len(from[v]) < len(branches)) && (best < 0 || longest[v] < longest[best]) {
				best = v
			}
		}
		if best >= 0 {
			d := f.report(f.graph.Nodes[best].ID.Span, "%q runs once for each branch that comes, from %q and from %q, because %s; give it join: {wait: all}",
				f.Name(best), f.Name(from[best][0]), f.Name(from[best][1]), why)
			d.Related = append(d.Related, f.relateFork(fork))
		}
	}
}

// countStepsFrom returns, for each node that a branch reaches, the length of the shortest path.
// Paths follow success edges and stop at joins and at the source of the fan-out.
func (f *facts) countStepsFrom(first, fork int) map[int]int {
	return graphalg.Distances(func(v int) []int {
		if f.graph.Nodes[v].Join != nil {
			return nil
		}
		return slices.DeleteFunc(f.listSuccessors(v), func(to int) bool { return to >= f.End || to == fork })
	}, first)
}

func checkJoinNeverFires(f *facts) {
	f.visitJoins(func(n *spec.Node, most int) {
		if n.Join.Wait == "N" && n.Join.Count > most {
			f.report(n.Join.Span, "%q waits for %d branches, but at most %d can reach it", n.ID.Value, n.Join.Count, most)
		} else if n.Join.Wait == "N" {
			f.reportBypass(n)
		}
	})
}

// reportBypass warns of an edge that sends fewer branches to a join than it waits for.
func (f *facts) reportBypass(join *spec.Node) {
	few := f.fewestArrivals(join.Index, f.flow().Dominators().Parent[join.Index], map[int]arrivals{})
	if few.edge < 0 || few.count >= join.Join.Count || join.Join.OnBypass.Value == "continue" {
		return
	}
	e := f.graph.Edges[few.edge]
	f.warn(join.Join.Span, "%q waits for %d branches, but with the edge from %q to %q only %d come: it never runs then", join.ID.Value, join.Join.Count, e.From.Value, e.To.Value, few.count)
	f.found[len(f.found)-1].Related = []spec.Related{f.related(e.To.Span, "the edge")}
}

// arrivals is the number of branches that reach a join, and the edge that makes it so small, or -1.
type arrivals struct{ count, edge int }

// fewestArrivals returns the fewest branches that get from a vertex to a join without failures.
// Paths that lead elsewhere count as controlflow.ManyBranches: they bypass the join on purpose.
func (f *facts) fewestArrivals(join, v int, known map[int]arrivals) arrivals {
	best := arrivals{controlflow.ManyBranches, -1}
	if out, done := known[v]; done {
		return out
	} else if v == join {
		return arrivals{1, -1}
	}
	if known[v] = best; v == f.End {
		return best
	}
	most, behind := 0, -1 // of all alternatives; the edge that decides after the best one
	for i := range f.flow().Groups[v] {
		g, all, edge := &f.flow().Groups[v][i], 0, -1
		if g.Kind == controlflow.OnFailure || f.isDead(g) {
			continue
		}
		for k, t := range g.Targets {
			few := f.fewestArrivals(join, t, known)
			all, edge = all+few.count, max(edge, few.edge)
			if g.Subset && few.count < best.count && g.Edges != nil && f.canAllHold(f.graph.Nodes[v], f.listEdgeClaims(g, func(i int) bool { return true }, func(i int) bool { return i == k })) {
				best, behind = arrivals{few.count, g.Edges[k]}, few.edge
			}
		}
		if most = max(most, all); !g.Subset && all < best.count {
			best, behind = arrivals{all, -1}, edge
			if g.Edges != nil {
				best.edge = g.Edges[0]
			}
		}
	}
	if best.count >= most {
		best.edge = behind
	}
	known[v] = best
	return best
}

func checkJoinWithoutFanout(f *facts) {
	f.visitJoins(func(n *spec.Node, most int) {
		if most == 1 && (n.Join.Wait != "N" || n.Join.Count < 2) {
			f.report(n.Join.Span, "%q joins branches, but only one can reach it", n.ID.Value)
		}
	})
}

// visitJoins visits the reachable valid joins with the most branches that can arrive, or 2 for several.
func (f *facts) visitJoins(visit func(n *spec.Node, most int)) {
	for v, n := range f.graph.Nodes {
		if n.Join == nil || !n.Join.IsValid() || !f.flow().Reached[v] || f.flow().Anywhere {
			continue
		}
		most := 1
		if n.Join.Wait == "N" && f.pairs().MayMeetAt(v) {
			most = cmp.Or(f.flow().MostArrivals(v, f.isDead), controlflow.ManyBranches)
		} else if n.Join.Wait != "N" && f.surePairs().MayMeetAt(v) {
			most = 2
		}
		visit(n, most)
	}
}
