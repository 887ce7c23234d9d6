// What a run sets up for all its tasks: the declarations of tools and providers.

package machine

import "github.com/graphrun/graphrun/internal/bind"

func (b *builder) setup() {
	b.plan.tools, b.plan.providers = b.bound.Tools, b.bound.Providers
	for _, fields := range [][]bind.Field{b.bound.Tools, b.bound.Providers} {
		for i := range fields {
			b.plan.wanted |= b.usesOf(&fields[i].Value)
		}
	}
}

// Setup evaluates the declarations of tools and providers, by name, as the
// file has them. They hold secrets in the clear: they are for those who start
// a tool or call a model, and for nobody to show or keep. Once the run has
// begun it gives the same at any time.
func (s *State) Setup() (tools, providers map[string]any, err error) {
	env := map[string]any{"secrets": s.secrets, "goal": s.goal, "run": s.env["run"]}
	if tools, err = bind.EvalFields(s.plan.tools, &s.vm, env); err != nil {
		return nil, nil, err
	}
	providers, err = bind.EvalFields(s.plan.providers, &s.vm, env)
	return tools, providers, err
}
