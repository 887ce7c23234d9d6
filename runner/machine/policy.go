// Policies that are checked during a run, against the past of each step (GraphSpec §10).

package machine

import (
	"fmt"
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// guard is a policy that is checked before a node runs, or when a branch reaches END.
type guard struct {
	rule   string
	broken func(t *Task, v *View) bool
}

// watch is a condition that must not hold after a node.
type watch struct {
	never *eval.Program
	uses  uses
}

// reachable is the policy that a node stays reachable once another has run.
type reachable struct{ from, to int }

// addPolicies stores the graph's policies at the nodes where they are checked.
func (b *builder) addPolicies(g *spec.Graph) {
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
		// add stores a guard at the node of a key. rule is a format for the subject and its verb.
		add := func(key, rule string, broken func(t *Task, v *View) bool) {
			if at := named(key); at == endNode {
				p.endGuards = append(p.endGuards, guard{fmt.Sprintf(rule, "the run", "end"), broken})
			} else if at >= 0 {
				n := &p.nodes[at]
				n.guards = append(n.guards, guard{fmt.Sprintf(rule, "node "+strconv.Quote(n.id), "run"), broken})
			}
		}
		if required := named("require"); required >= 0 {
			p.requires = true
			add("before", "%s may %s only after "+strconv.Quote(p.nodes[required].id)+" has succeeded", func(_ *Task, v *View) bool {
				return v.sumVisits(required).Succeeded == 0
			})
		}
		if after := named("after"); after >= 0 {
			add("forbid", "%s may not %s after "+strconv.Quote(p.nodes[after].id), func(_ *Task, v *View) bool { return v.visitCount(after) > 0 })
		}
		if limit := policy.Get("max_visits"); limit != nil {
			if most, ok := limit.Data().(int); ok && most > 0 {
				add("node", "%s may %s at most "+eval.Count(most, "time"), func(t *Task, _ *View) bool { return t.Visit > most })
			}
		}
		if from, to := named("from"), named("reach"); from >= 0 && to != noNode {
			p.reachable = append(p.reachable, reachable{from, to})
		}
		if at, never := named("at"), p.bound.Never[i]; at >= 0 && never != nil {
			w := watch{never: never}
			b.addUses(&w.uses, nil, never)
			p.nodes[at].watches = append(p.nodes[at].watches, w)
		}
	}
}

// checkGuards returns the failure of the first guard that the task's past breaks, or nil.
func (t *Task) checkGuards(guards []guard, node int) *Failure {
	for _, g := range guards {
		if g.broken(t, t.view()) {
			return policyFailure(&t.scope.plan.nodes[node], g.rule)
		}
	}
	return nil
}

// checkReachable returns the failure of a branch that can't reach a required node, or nil.
func (sc *Scope) checkReachable(t *Task) *Failure {
	for _, r := range sc.plan.reachable {
		if t.From.Task == 0 || t.view().visitCount(r.from) == 0 || t.Node == r.to || sc.canReach(t.Node, r.to, noNode) {
			continue
		}
		return policyFailure(&sc.plan.nodes[t.From.Node], "from node "+strconv.Quote(sc.plan.nodes[t.Node].id)+" the run can't reach "+
			strconv.Quote(sc.plan.targetName(r.to))+" any more, which "+strconv.Quote(sc.plan.nodes[r.from].id)+" requires")
	}
	return nil
}

// checkForbidden returns the scope's end if a forbidden condition holds after a node, or nil.
func (t *Task) checkForbidden(n *node) *End {
	for i := range n.watches {
		w := &n.watches[i]
		holds, err := t.scope.state.vm.Test(w.never, t.view().buildContext(t, w.uses))
		if err != nil {
			return failureEnd(&Failure{
				Kind: "expression", Node: n.id, Attempt: t.attemptNumber(),
				Message: "policy never: " + strconv.Quote(w.never.Source) + ": " + err.Error(),
			})
		}
		if holds {
			return failureEnd(policyFailure(n, strconv.Quote(w.never.Source)+" holds at node "+strconv.Quote(n.id)+", where it never may"))
		}
	}
	return nil
}

func policyFailure(n *node, message string) *Failure {
	return &Failure{Kind: "policy", Node: n.id, Message: "policy violated: " + message}
}
