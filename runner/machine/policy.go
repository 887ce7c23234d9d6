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
	for i := range g.Policies {
		policy := &g.Policies[i]
		named := func(key string) *node {
			v := policy.Get(key)
			if v == nil || g.Node(v.Text.Value) == nil {
				return nil
			}
			return &b.plan.nodes[g.Node(v.Text.Value).Index]
		}
		add := func(at *node, other *node, make func(index int) guard) {
			if at != nil && other != nil {
				at.guards = append(at.guards, make(g.Node(other.id).Index))
			}
		}
		b.plan.requires = b.plan.requires || named("require") != nil
		b.endPolicy(policy, g)
		if from, reach := named("from"), policy.Get("reach"); from != nil && reach != nil {
			r := reachable{from: g.Node(from.id).Index, to: b.target(reach.Text.Value)}
			b.plan.reachable = append(b.plan.reachable, r)
		}
		add(named("before"), named("require"), func(index int) guard { return guard{requires: index, forbids: noNode} })
		add(named("forbid"), named("after"), func(index int) guard { return guard{requires: noNode, forbids: index} })
		if at, limit := named("node"), policy.Get("max_visits"); at != nil && limit != nil {
			if most, ok := limit.Data().(int); ok {
				at.guards = append(at.guards, guard{requires: noNode, forbids: noNode, maxVisits: most})
			}
		}
		if at, never := named("at"), b.bound.Never[i]; at != nil && never != nil {
			w := watch{never: never, uses: b.usesOfProgram(never)}
			b.plan.wanted |= w.uses
			at.watches = append(at.watches, w)
		}
	}
}

// endPolicy stores a policy about END.
func (b *builder) endPolicy(policy *spec.Value, g *spec.Graph) {
	index := func(key string) (node int, isEnd bool) {
		v := policy.Get(key)
		switch {
		case v == nil:
			return noNode, false
		case v.Text.Value == spec.END:
			return noNode, true
		case g.Node(v.Text.Value) == nil:
			return noNode, false
		}
		return g.Node(v.Text.Value).Index, false
	}
	if _, end := index("before"); end {
		if node, _ := index("require"); node != noNode {
			b.plan.endGuards = append(b.plan.endGuards, guard{requires: node, forbids: noNode})
		}
	}
	if _, end := index("forbid"); end {
		if node, _ := index("after"); node != noNode {
			b.plan.endGuards = append(b.plan.endGuards, guard{requires: noNode, forbids: node})
		}
	}
}

// checkEndPolicies returns the failure of a branch that may not end here, or nil.
func (sc *Scope) checkEndPolicies(t *Task) *Failure {
	v := t.view()
	for _, g := range sc.plan.endGuards {
		n := &sc.plan.nodes[t.From.Node]
		switch {
		case g.requires != noNode && !v.succeeded(g.requires):
			return violation(n, "the run may end only after "+strconv.Quote(sc.plan.nodes[g.requires].id)+" has succeeded")
		case g.forbids != noNode && v.visitsOf(g.forbids) > 0:
			return violation(n, "the run may not end after "+strconv.Quote(sc.plan.nodes[g.forbids].id))
		}
	}
	return nil
}

// checkPolicies returns the failure of a step that may not run, or nil.
func (t *Task) checkPolicies(n *node) *Failure {
	v := t.view()
	for _, g := range n.guards {
		switch {
		case g.requires != noNode && !v.succeeded(g.requires):
			return violation(n, "node "+strconv.Quote(n.id)+" may run only after "+strconv.Quote(t.scope.plan.nodes[g.requires].id)+" has succeeded")
		case g.forbids != noNode && v.visitsOf(g.forbids) > 0:
			return violation(n, "node "+strconv.Quote(n.id)+" may not run after "+strconv.Quote(t.scope.plan.nodes[g.forbids].id))
		case g.maxVisits > 0 && t.Visit > g.maxVisits:
			return violation(n, "node "+strconv.Quote(n.id)+" may run at most "+plural(g.maxVisits, "time"))
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
			return &End{Status: Failed, Reason: "expression", Failure: &Failure{
				Kind: "expression", Node: n.id, Attempt: t.attempt(),
				Message: "policy never: " + strconv.Quote(w.never.Source()) + ": " + err.Error(),
			}}
		}
		if holds {
			return &End{Status: Failed, Reason: "policy", Failure: violation(n, strconv.Quote(w.never.Source())+" holds at node "+strconv.Quote(n.id)+", where it never may")}
		}
	}
	return nil
}

func violation(n *node, message string) *Failure {
	return &Failure{Kind: "policy", Node: n.id, Message: "policy violated: " + message}
}
