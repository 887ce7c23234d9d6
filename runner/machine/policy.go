// Policies that are checked while a run goes on (GraphSpec §10). Lint decides what the graph
// alone tells; here the past of each step is checked.

package machine

import (
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// guard is a policy that is checked before a node runs, or when a branch reaches END.
// Exactly one of its fields is set.
type guard struct {
	requires  int // node that must have succeeded; noNode
	forbids   int // node that must not have run; noNode
	maxVisits int // 0: any
}

// watch is a condition that must not hold after a node.
type watch struct {
	never *eval.Program
	uses  uses
}

// reachable is the policy that a node stays reachable once another has run.
type reachable struct{ from, to int }

// policies stores the graph's policies at the nodes where they are checked.
func (b *builder) policies(g *spec.Graph) {
	p := b.plan
	for i := range g.Policies {
		policy := &g.Policies[i]
		named := func(key string) int {
			v := policy.Get(key)
			switch {
			case v == nil:
				return noNode
			case v.Text.Value == spec.END:
				return endNode
			case g.Node(v.Text.Value) == nil:
				return noNode
			}
			return g.Node(v.Text.Value).Index
		}
		add := func(at int, one guard) {
			if at == endNode {
				p.endGuards = append(p.endGuards, one)
			} else if at >= 0 {
				p.nodes[at].guards = append(p.nodes[at].guards, one)
			}
		}
		if required := named("require"); required >= 0 {
			p.requires = true
			add(named("before"), guard{requires: required, forbids: noNode})
		}
		if after := named("after"); after >= 0 {
			add(named("forbid"), guard{requires: noNode, forbids: after})
		}
		if limit := policy.Get("max_visits"); limit != nil && named("node") >= 0 {
			if most, ok := limit.Data().(int); ok {
				add(named("node"), guard{requires: noNode, forbids: noNode, maxVisits: most})
			}
		}
		if from, to := named("from"), named("reach"); from >= 0 && to != noNode {
			p.reachable = append(p.reachable, reachable{from, to})
		}
		if at, never := named("at"), b.bound.Never[i]; at >= 0 && never != nil {
			w := watch{never: never, uses: b.usesOfProgram(never)}
			p.wanted |= w.uses
			p.nodes[at].watches = append(p.nodes[at].watches, w)
		}
	}
}

// checkEndPolicies returns the failure of a branch that may not end here, or nil.
func (sc *Scope) checkEndPolicies(t *Task) *Failure {
	return t.checkGuards(sc.plan.endGuards, t.From.Node, true)
}

// checkPolicies returns the failure of a step that may not run, or nil.
func (t *Task) checkPolicies(n *node) *Failure {
	return t.checkGuards(n.guards, t.Node, false)
}

// checkGuards returns the failure of the first guard that the past of a task breaks. node
// is the one that ran last, or is to run.
func (t *Task) checkGuards(guards []guard, node int, atEnd bool) *Failure {
	if len(guards) == 0 {
		return nil
	}
	v, p := t.view(), t.scope.plan
	n := &p.nodes[node]
	who, verb := "node "+strconv.Quote(n.id)+" may", "run"
	if atEnd {
		who, verb = "the run may", "end"
	}
	for _, g := range guards {
		switch {
		case g.requires != noNode && !v.succeeded(g.requires):
			return violation(n, who+" "+verb+" only after "+strconv.Quote(p.nodes[g.requires].id)+" has succeeded")
		case g.forbids != noNode && v.visitsOf(g.forbids) > 0:
			return violation(n, who+" not "+verb+" after "+strconv.Quote(p.nodes[g.forbids].id))
		case g.maxVisits > 0 && t.Visit > g.maxVisits:
			return violation(n, who+" "+verb+" at most "+plural(g.maxVisits, "time"))
		}
	}
	return nil
}

// checkReachable returns the failure of a branch from which a required node became
// unreachable, or nil.
func (sc *Scope) checkReachable(t *Task) *Failure {
	for _, r := range sc.plan.reachable {
		if t.From.Task == 0 || t.view().visitsOf(r.from) == 0 || t.Node == r.to || sc.reaches(t.Node, r.to, noNode) {
			continue
		}
		return violation(&sc.plan.nodes[t.From.Node], "from node "+strconv.Quote(sc.plan.nodes[t.Node].id)+" the run can't come to "+
			strconv.Quote(sc.plan.targetName(r.to))+" any more, which "+strconv.Quote(sc.plan.nodes[r.from].id)+" requires")
	}
	return nil
}

// checkForbidden returns how the scope ends if a forbidden condition holds after a node,
// or nil.
func (t *Task) checkForbidden(n *node) *End {
	for i := range n.watches {
		w := &n.watches[i]
		holds, err := t.scope.state.vm.Test(w.never, t.view().context(t, w.uses))
		if err != nil {
			return failureEnd(&Failure{
				Kind: "expression", Node: n.id, Attempt: t.attempt(),
				Message: "policy never: " + strconv.Quote(w.never.Source()) + ": " + err.Error(),
			})
		}
		if holds {
			return failureEnd(violation(n, strconv.Quote(w.never.Source())+" holds at node "+strconv.Quote(n.id)+", where it never may"))
		}
	}
	return nil
}

func violation(n *node, message string) *Failure {
	return &Failure{Kind: "policy", Node: n.id, Message: "policy violated: " + message}
}
