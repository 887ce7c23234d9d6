// The rules about branches: parallel-conflict, accidental-fanout.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

func parallelRules() []Rule {
	return []Rule{
		{
			Name: "accidental-fanout", Group: "parallel", Severity: spec.Warning, needs: needShape,
			Summary: "edges without a condition fire together where only one seems meant",
			Doc: "All edges without a condition fire when no condition holds; they start parallel branches. " +
				"The rule reports edges that are declared apart if one is the else of a condition, leads back to the node itself, or goes to END or to a fail node. " +
				"Write both targets into one edge, to: [a, b], if both are meant; else give one a condition.",
			Bad: startAt("write") + `nodes:
  write: {kind: pass}
  review: {kind: pass, max_visits: 3}
  publish: {kind: pass}
` + edges("from: write, to: review", "from: review, to: write", "from: review, to: publish", "from: publish, to: END"),
			change: []string{"review, to: write}", "review, to: write, when: visits.review < 2}"},
			check:  checkAccidentalFanout,
		},
		{
			Name: "parallel-conflict", Group: "parallel", Severity: spec.Warning, needs: needShape,
			Summary: "parallel branches write one key, or one reads what another writes",
			Doc: "Of two branches that write one key, only the later write in path order is kept where they meet; one that reads a key does not see what another writes. " +
				"Give each branch a key of its own, give the key a reducer such as append, or join the branches first. " +
				"To let one branch win, set parallel.conflict, which silences the rule for writes; with conflict: error the run fails where the branches meet.",
			Bad: startAt("split") + `output: found
state:
  found: {type: string}
nodes:
  split: {kind: pass}
  web: {kind: set, set: {found: "'from the web'"}}
  files: {kind: set, set: {found: "'from files'"}}
` + edges("from: split, to: [web, files]", "from: [web, files], to: END"),
			change: []string{"found: {type: string}", "found: {type: array, items: {type: string}, reducer: append}"},
			check:  checkParallelConflict,
		},
	}
}

// maxRivals bounds how many earlier writers one is compared with, and how many targets of a
// fan-out with each other.
const maxRivals = 64

// writer is a write and its node.
type writer struct {
	node int
	dataflow.Write
}

func checkParallelConflict(f *facts) {
	if !f.flow().FansOut {
		return
	}
	writers := make([][]writer, len(f.graph.State)) // in the order of the file
	for v, a := range f.access() {
		for _, w := range a.Writes {
			if dataflow.Replaces(f.graph.State[w.Key]) {
				writers[w.Key] = append(writers[w.Key], writer{v, w})
			}
		}
	}
	for _, list := range writers {
		for i := 1; i < len(list); i++ {
			f.reportWriteConflict(list[max(0, i-maxRivals):i], list[i])
		}
	}
	seen := map[[2]int]bool{} // node and key
	for i := range f.uses().All {
		u := &f.uses().All[i]
		if u.Node < 0 {
			continue
		}
		for _, r := range u.Program.Reads() {
			if n := f.outputOf(r); n != nil {
				f.reportOutputConflict(u, n)
			}
			if key, ok := f.keyOf[r.Path[0]]; ok && !seen[[2]int{u.Node, key}] {
				seen[[2]int{u.Node, key}] = f.reportReadConflict(u, writers[key])
			}
		}
	}
}

func (f *facts) reportWriteConflict(earlier []writer, w writer) {
	for _, e := range earlier {
		fork, ok := f.forkOf(e.node, w.node)
		if !ok {
			continue
		}
		conflict := ""
		if f.graph.Parallel.ConflictSpan.To > 0 {
			conflict = f.graph.Parallel.Conflict
		}
		if p := f.graph.Nodes[fork].Parallel; p != nil && p.Conflict != "" {
			conflict = p.Conflict
		}
		outcome := "only one write is kept where the branches meet"
		if conflict == "error" {
			outcome = "with conflict: error the run fails where the branches meet"
		} else if conflict != "" {
			continue
		}
		d := f.report(w.Name.Span, "%q and %q can run at the same time and both write %q; %s", f.Name(e.node), f.Name(w.node), w.Name.Value, outcome)
		d.Related = append(d.Related, f.related(e.Name.Span, "the other write"), f.branchesBegin(fork))
		return
	}
}

func (f *facts) reportReadConflict(u *dataflow.Use, writers []writer) bool {
	for _, w := range writers[:min(len(writers), maxRivals)] {
		if w.node == u.Node {
			return false // a change of its own: the writes are compared
		}
		fork, ok := f.forkOf(w.node, u.Node)
		if !ok || f.mayBeOpen(u, w.Key) {
			continue
		}
		d := f.report(u.SpanOf(w.Name.Value), "%q reads %q, but not what %q writes in another branch", f.Name(u.Node), w.Name.Value, f.Name(w.node))
		d.Related = append(d.Related, f.related(w.Name.Span, "the write"), f.branchesBegin(fork))
		return true
	}
	return false
}

func (f *facts) reportOutputConflict(u *dataflow.Use, n *spec.Node) {
	if fork, ok := f.forkOf(n.Index, u.Node); ok {
		d := f.report(u.SpanOf("nodes"), "%q reads the output of %q, which runs in another branch", f.Name(u.Node), n.ID.Value)
		d.Related = append(d.Related, f.branchesBegin(fork))
	}
}

func (f *facts) branchesBegin(fork int) spec.Related {
	return f.related(f.graph.Nodes[fork].ID.Span, "the branches begin here")
}

// forkOf returns the fan-out that lets two different nodes run at the same time, if any.
func (f *facts) forkOf(x, y int) (fork int, ok bool) {
	fork, ok = f.rivals().Fork(x, y)
	return fork, ok && x != y
}

// startsBoth reports whether a group of a fan-out can start branches at two of its targets.
func (f *facts) startsBoth(fork int, g *controlflow.Group, x, y int) bool {
	if f.isDead(g) || len(g.Targets) > maxRivals {
		return false
	}
	var claims []solve.Claim
	for _, e := range g.Edges {
		if when := f.bound.Edges[e].When; g.Subset && when != nil && (f.To[e] == x || f.To[e] == y) {
			claims = append(claims, solve.Claim{Tree: when.Tree(), Holds: true})
		}
	}
	return len(claims) != 2 || f.arePossible(f.graph.Nodes[fork], claims)
}

func checkAccidentalFanout(f *facts) {
	for v, groups := range f.flow().Groups {
		guarded := slices.ContainsFunc(groups, func(g controlflow.Group) bool {
			return g.Kind == controlflow.ByGuard || g.Kind == controlflow.ByDecision
		})
		for i := range groups {
			if g := &groups[i]; f.flow().Reached[v] && g.Kind == controlflow.ByDefault {
				f.reportFanout(v, g, guarded)
			}
		}
	}
}

// reportFanout reports the first edge without a condition that seems to be an alternative
// to another one.
func (f *facts) reportFanout(v int, g *controlflow.Group, guarded bool) {
	edges := g.Edges
	first := f.graph.Edges[edges[0]]
	target := f.To[edges[0]]
	fails := func(t int) bool { return t < f.End && f.graph.Nodes[t].Kind.Value == "fail" }
	for _, i := range edges[1:] {
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

// isMeantToJoin reports whether the branches of a group meet, or the file says how they do.
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
		for to := range f.stepsFrom(first, v) { //lint:ignore mapiter each node for itself
			if joined[to]++; joined[to] > 1 && f.graph.Nodes[to].Join != nil {
				return true
			}
		}
	}
	return false
}
