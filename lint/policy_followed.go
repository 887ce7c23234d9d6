// Proofs that a policy is kept, from path conditions: every way that what conditions
// have shown and nodes have written leaves open is followed, and none breaks it.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// follows reports whether no way keeps a policy from being kept. A run with branches is
// as many ways, each from the start to where a branch has come; what branches may write
// beside a way is not known on it.
func (f *facts) follows(p *policy) bool {
	last := p.place // where a breach is seen
	switch p.kind {
	case "forbid":
		last = p.subject
	case "reach":
		last = f.End
	}
	if f.strays(last) || p.kind == "max_visits" && f.flow().FansOut {
		return false
	}
	breach := &pathSearch{f: f, through: -1, to: p.place}
	switch p.kind {
	case "require": // a way on which it has succeeded keeps the policy
		breach.allows = func(at *searched, g *controlflow.Group, _ onward) bool {
			return at.at != p.subject || g.Kind == controlflow.OnFailure || f.graph.Nodes[at.at].OnMaxVisits == "skip"
		}
	case "forbid":
		breach.through, breach.to = p.place, p.subject
	case "max_visits":
		breach.visits = p.limit
	case "reach":
		if p.subject != f.End {
			return false // a way is all that is asked for
		}
		breach.through, breach.stop = p.place, f.stuck
	case "never":
		if p.never == nil {
			return false
		}
		breach.accept = func(k *knowledge) bool { return k.mayHold(p.place, p.never) }
		if slices.ContainsFunc(f.graph.Nodes, func(n *spec.Node) bool { return n.OnMaxVisits == "skip" }) {
			break // which visits are skipped is known where they are counted
		}
		keys := map[string]bool{}
		for _, r := range p.never.Reads() {
			keys[r.Path[0]] = true
		}
		breach.in = f.about(keys)
		if breach.ponder(maxFollowed) == nil && breach.all {
			return true
		}
		breach.in = nil
	}
	return breach.ponder(maxFollowed) == nil && breach.all
}

// strays reports whether a run may come to a vertex, or for END to any, on none of its
// ways: where a join before it fails, or goes on, although no branch has come to it; and
// whether visits that are skipped may be mistaken for others.
func (f *facts) strays(to int) bool {
	if !f.flow().FansOut {
		return false
	}
	for v, n := range f.graph.Nodes {
		if to != f.End && v != to && !f.leads(v, to) {
			continue
		}
		if f.failsBypassed(n) || controlflow.FailurePolicy(f.graph, v) == "wait_all" || n.OnMaxVisits == "skip" {
			return true
		}
	}
	return false
}

// mayHold reports whether a condition that is tried after a node may hold there, however
// the node ended; k is what is known when it begins.
func (k *knowledge) mayHold(v int, p *eval.Program) bool {
	n := k.f.graph.Nodes[v]
	holds, failed, done := solve.Claim{Tree: p.Tree(), Holds: true}, k.clone(), k.after(v)
	failed.run(v)
	return n.OnMaxVisits == "skip" || done != nil && done.mayCome(site{f: k.f, node: n}, holds) || failed.mayCome(site{f: k.f, node: n, failed: true}, holds)
}
