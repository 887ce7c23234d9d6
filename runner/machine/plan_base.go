// Plans of one graph that differ in their policies.

package machine

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Base is a graph compiled but for its policies: the plans for each of them share the
// rest, which is most of it.
type Base struct{ built builder }

// NewBase compiles a graph whose expressions are compiled, without its policies. It is nil
// when the graph can't run.
func NewBase(g *spec.Graph, bound *bind.Graph) *Base {
	b := newBuilder(g, bound, nil)
	if b.found.HasErrors() {
		return nil
	}
	return &Base{*b}
}

// Plan is the plan with some policies, never their conditions: nil for those without one.
func (base *Base) Plan(policies []spec.Value, never []*eval.Program) *Plan {
	b, plan, g, bound := base.built, *base.built.plan, *base.built.plan.Graph, *base.built.bound
	b.used, b.watched = maps.Clone(b.used), maps.Clone(b.watched)
	plan.nodes, plan.initial = slices.Clone(plan.nodes), maps.Clone(plan.initial)
	g.Policies, bound.Never = policies, never
	b.plan, plan.Graph, b.bound = &plan, &g, &bound
	b.finish(&g)
	return b.plan
}
