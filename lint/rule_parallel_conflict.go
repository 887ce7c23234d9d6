// parallel-conflict: branches that can be live together touch one state key.

package lint

import (
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/concurrency"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

func parallelConflict() Rule {
	return Rule{
		Name: "parallel-conflict", Group: "parallel", Severity: spec.Warning, needs: needShape,
		Summary: "parallel branches write one key, or one reads what another writes",
		Doc: "Of two branches that write one key, only the later write in path order is kept where they meet; one that reads a key does not see what another writes. " +
			"Give each branch a key of its own, give the key a reducer such as append, or join the branches first. " +
			"Whoever wants one to win says so by parallel.conflict, which silences the rule for writes; with conflict: error no branch wins, and the run fails where they meet.",
		Bad: `graphrun: v1
name: search
start: split
output: found
state:
  found: {type: string}
nodes:
  split: {kind: pass}
  web: {kind: set, set: {found: "'from the web'"}}
  files: {kind: set, set: {found: "'from files'"}}
edges:
  - {from: split, to: [web, files]}
  - {from: [web, files], to: END}
`,
		change: []string{"found: {type: string}", "found: {type: array, items: {type: string}, reducer: append}"},
		check:  checkParallelConflict,
	}
}

// maxRivals bounds how many earlier writers one is compared with.
const maxRivals = 64

func checkParallelConflict(f *facts) {
	k := f.forks()
	if k == nil || !k.Any() {
		return
	}
	writers := f.writersByKey()
	for key, list := range writers {
		if !dataflow.Replaces(f.graph.State[key]) {
			writers[key] = nil
			continue
		}
		for i := 1; i < len(list); i++ {
			f.writeConflict(k, list[max(0, i-maxRivals):i], list[i])
		}
	}
	f.readConflicts(k, writers)
}

// writer is a write and its node.
type writer struct {
	node int
	dataflow.Write
}

// writersByKey lists the writes to each state key, in file order.
func (f *facts) writersByKey() [][]writer {
	out := make([][]writer, len(f.graph.State))
	for v, a := range f.access() {
		for _, w := range a.Writes {
			out[w.Key] = append(out[w.Key], writer{v, w})
		}
	}
	return out
}

func (f *facts) writeConflict(k *concurrency.Branches, earlier []writer, w writer) {
	for i := range earlier {
		at, ok := f.partingOf(k, earlier[i].node, w.node)
		if !ok || f.conflictAt(at.Node) != "" && f.conflictAt(at.Node) != "error" || at.Optional && f.exclusive(k, at) {
			continue
		}
		outcome := "only one write is kept where the branches meet"
		if f.conflictAt(at.Node) != "" {
			outcome = "with conflict: error the run fails where the branches meet"
		}
		d := f.report(w.Name.Span, "%q and %q can run at the same time and both write %q; %s",
			f.Name(earlier[i].node), f.Name(w.node), w.Name.Value, outcome)
		d.Related = append(d.Related, f.related(earlier[i].Name.Span, "the other write"),
			f.related(f.graph.Nodes[at.Node].ID.Span, "the branches begin here"))
		return
	}
}

// conflictAt is what becomes of two writes of branches that a node starts; "" when the file
// doesn't say.
func (f *facts) conflictAt(node int) string {
	if p := f.graph.Nodes[node].Parallel; p != nil && p.Conflict != "" {
		return p.Conflict
	}
	if f.graph.Parallel.ConflictSpan.To > 0 {
		return f.graph.Parallel.Conflict
	}
	return ""
}

// exclusive reports whether the conditions of two edges can't hold together.
func (f *facts) exclusive(k *concurrency.Branches, at concurrency.Parting) bool {
	var claims []solve.Claim
	for _, c := range []int{at.Left, at.Right} {
		if !k.IsArm(c) {
			return false
		}
		for _, g := range k.Flow.Groups[at.Node] {
			for _, e := range g.Edges {
				when := f.bound.Edges[e].When
				if f.To[e] == k.Node(c) && when != nil {
					claims = append(claims, solve.Claim{Tree: when.Tree(), Holds: true})
				}
			}
		}
	}
	there := site{f: f, node: f.graph.Nodes[at.Node]}
	return len(claims) == 2 && !f.solver.Possible(claims, there.domain)
}

// readConflicts reports reads of what a sibling branch writes.
func (f *facts) readConflicts(k *concurrency.Branches, writers [][]writer) {
	type place struct {
		node int
		name string
	}
	seen := map[place]bool{}
	all := f.uses().All
	for i := range all {
		u := &all[i]
		if u.Node < 0 {
			continue
		}
		for _, r := range u.Program.Reads() {
			key, ok := f.keyOf[r.Path[0]]
			if !ok {
				f.outputRace(k, u, r)
				continue
			}
			if at := (place{u.Node, r.Path[0]}); len(writers[key]) > 0 && !seen[at] && f.readConflict(k, u, writers[key]) {
				seen[at] = true
			}
		}
	}
}

func (f *facts) readConflict(k *concurrency.Branches, u *dataflow.Use, writers []writer) bool {
	for i := range writers[:min(len(writers), maxRivals)] {
		w := &writers[i]
		if w.node == u.Node {
			return false // a change of its own: the writes are compared
		}
		at, ok := f.partingOf(k, w.node, u.Node)
		if !ok || at.Optional && f.exclusive(k, at) || f.mayBeOpen(u, w.Key) {
			continue
		}
		d := f.report(u.SpanOf(w.Name.Value), "%q reads %q, but not what %q writes in another branch", f.Name(u.Node), w.Name.Value, f.Name(w.node))
		d.Related = append(d.Related, f.related(w.Name.Span, "the write"),
			f.related(f.graph.Nodes[at.Node].ID.Span, "the branches begin here"))
		return true
	}
	return false
}

// outputRace reports a read of the output of a node in a sibling branch.
func (f *facts) outputRace(k *concurrency.Branches, u *dataflow.Use, r eval.Read) {
	if !isOutput(r) || f.graph.Node(r.Path[1]) == nil {
		return
	}
	id := r.Path[1]
	n := f.graph.Node(id)
	if at, ok := f.partingOf(k, n.Index, u.Node); ok {
		d := f.report(u.SpanOf("nodes"), "%q reads the output of %s, which runs in another branch", f.Name(u.Node), strconv.Quote(id))
		d.Related = append(d.Related, f.related(f.graph.Nodes[at.Node].ID.Span, "the branches begin here"))
	}
}
