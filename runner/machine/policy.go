// Policies watched while a run goes on (GraphSpec §10). What can be decided on
// the graph is decided there; here the run's own path is held against them.

package machine

import (
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// guard is what has to hold when a node is entered, or when a branch comes to
// END. Exactly one of its parts is set.
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

// policies files the graph's policies under the nodes where they are checked.
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
		if required := named("require"); required != nil {
			required.required, b.plan.requires = true, true
		}
		b.endPolicy(policy, g)
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

// endPolicy files a policy that speaks of END.
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

// endViolation is how the run ends when a branch comes to END that may not; nil
// when none does.
func (p *Plan) endViolation(s *State) *ending {
	for _, r := range s.routes {
		t := &s.tasks[r.task]
		if r.to != endNode || t.uncaught || t.expired != nil || t.at.dead() {
			continue
		}
		for _, g := range p.endGuards {
			switch n := &p.nodes[t.node]; {
			case g.requires != noNode && s.memory.succeeded[g.requires] == 0:
				return violated(n, "the run may end only after "+strconv.Quote(p.nodes[g.requires].id)+" has succeeded")
			case g.forbids != noNode && s.Visits(g.forbids) > 0:
				return violated(n, "the run may not end after "+strconv.Quote(p.nodes[g.forbids].id))
			}
		}
	}
	return nil
}

// violation is how the run ends when a node may not be entered; nil when it may.
// Refused says that its limit of visits does not let it run once more.
func (p *Plan) violation(s *State, n *node, visits int, refused bool) *ending {
	for _, g := range n.guards {
		switch {
		case g.requires != noNode && s.memory.succeeded[g.requires] == 0:
			return violated(n, "node "+strconv.Quote(n.id)+" may run only after "+strconv.Quote(p.nodes[g.requires].id)+" has succeeded")
		case g.forbids != noNode && s.Visits(g.forbids) > 0:
			return violated(n, "node "+strconv.Quote(n.id)+" may not run after "+strconv.Quote(p.nodes[g.forbids].id))
		case g.maxVisits > 0 && visits >= g.maxVisits && !refused:
			return violated(n, "node "+strconv.Quote(n.id)+" may run at most "+plural(g.maxVisits, "time"))
		}
	}
	return nil
}

// countSucceeded counts the visits that ended well in the superstep, of nodes that
// policies require: one that failed, was skipped or still waits for its answer in
// another branch has not approved anything.
func (p *Plan) countSucceeded(s *State) {
	for i := range s.tasks {
		if t := &s.tasks[i]; p.nodes[t.node].required && t.status == succeeded && !t.skipped {
			s.memory.succeed(t.node, 1)
		}
	}
}

// forbidden is how the run ends when a condition holds that must not after a
// node; nil when none does.
func (p *Plan) forbidden(s *State, t *task) *ending {
	n := &p.nodes[t.node]
	for i := range n.watches {
		w := &n.watches[i]
		s.setContext(w.uses, t)
		holds, err := s.vm.Test(w.never, s.env)
		if err != nil {
			return &ending{status: Failed, reason: "expression", failure: &Failure{
				Kind: "expression", Node: n.id, Attempt: t.attempt,
				Message: "policy never: " + strconv.Quote(w.never.Source()) + ": " + err.Error(),
			}}
		}
		if holds {
			return violated(n, strconv.Quote(w.never.Source())+" holds at node "+strconv.Quote(n.id)+", where it never may")
		}
	}
	return nil
}

func violated(n *node, message string) *ending {
	return &ending{status: Failed, reason: "policy", failure: &Failure{
		Kind: "policy", Node: n.id, Message: "policy violated: " + message,
	}}
}
