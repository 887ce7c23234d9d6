// Proofs that a policy is kept, from path conditions: every way that what conditions
// have shown and nodes have written leaves open is followed, and none breaks it.

package lint

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/solve"
)

// maxFollowed bounds the states that one proof may look at.
const maxFollowed = 4_000

// followed is a state of the search, and what the policy asks of the way to it: whether
// the node that it names has succeeded or run there, and how often.
type followed struct {
	state int
	since bool
	ran   int
}

// follows reports whether no way keeps a policy from being kept. A run with branches is
// as many ways, each from the start to where a branch has come; what branches may write
// beside a way is not known on it.
func (f *facts) follows(p *policy) bool {
	if f.strays() || p.kind == "forbid" && f.meetsFork(p.place, p.subject) || p.kind == "max_visits" && f.flow().FansOut {
		return false
	}
	g := f.stateSpace()
	todo := []followed{{state: 0}}
	seen := map[followed]bool{todo[0]: true}
	for len(todo) > 0 && len(seen) <= maxFollowed {
		at := todo[0]
		todo = todo[1:]
		if f.breaksAt(p, at) {
			return false
		}
		for _, way := range g.next(at.state) {
			next := f.since(p, at, way)
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	f.pondered += weight * len(seen)
	return len(todo) == 0 && !g.cut
}

// strays reports whether a run may come to a node on none of its ways: where a join
// fails, or goes on, although no branch has come to it; and whether visits that are
// skipped may be mistaken for others.
func (f *facts) strays() bool {
	if !f.flow().FansOut {
		return false
	}
	for v, n := range f.graph.Nodes {
		if f.failsBypassed(n) || controlflow.FailurePolicy(f.graph, v) == "wait_all" || n.OnMaxVisits == "skip" {
			return true
		}
	}
	return false
}

// breaksAt reports whether the policy may be broken where a way has come to.
func (f *facts) breaksAt(p *policy, at followed) bool {
	s := &f.theReached.states[at.state]
	switch p.kind {
	case "require":
		return s.at == p.place && !at.since
	case "forbid":
		return s.at == p.subject && at.since
	case "max_visits":
		return s.at == p.place && at.ran >= p.limit
	case "reach":
		return (at.since || s.at == p.place) && s.at != f.End && !f.endsFrom(s.at)
	}
	return s.at == p.place && (p.never == nil || s.know.mayHold(p.place, p.never))
}

// since is the state that a way leads to.
func (f *facts) since(p *policy, at followed, way onward) followed {
	v := f.theReached.states[at.state].at
	next := followed{way.to, at.since, at.ran}
	switch {
	case p.kind == "max_visits":
		if v == p.place {
			next.ran++
		}
	case p.kind == "require":
		next.since = at.since || v == p.subject && f.flow().Groups[v][way.group].Kind != controlflow.OnFailure && f.graph.Nodes[v].OnMaxVisits != "skip"
	case p.kind == "forbid" || p.kind == "reach":
		next.since = at.since || v == p.place
	}
	return next
}

// mayHold reports whether a condition that is tried after a node may hold there, however
// the node ended; k is what is known when it begins.
func (k *knowledge) mayHold(v int, p *eval.Program) bool {
	failed := k.clone()
	failed.run(v)
	done := failed.clone()
	done.leave(v)
	n := k.f.graph.Nodes[v]
	return done.holdsAt(site{f: k.f, node: n}, p) || failed.holdsAt(site{f: k.f, node: n, failed: true}, p) || n.OnMaxVisits == "skip"
}

func (k *knowledge) holdsAt(at site, p *eval.Program) bool {
	claims := make([]solve.Claim, 0, len(k.claims)+1)
	for i := range k.claims {
		claims = append(claims, k.claims[i].Claim)
	}
	return k.f.solver.Possible(append(claims, solve.Claim{Tree: p.Tree(), Holds: true}), func(path []string, typ eval.Type) solve.Domain {
		if _, counted := k.counted(path); counted || k.f.graph.Key(path[0]) != nil {
			return k.domain(path, typ)
		}
		return at.domain(path, typ)
	})
}
