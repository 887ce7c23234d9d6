// What the tasks of a graph share.

package runner

import (
	"context"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// setup holds the tools and providers of a graph.
type setup struct {
	tools, providers map[string]any
	err              error
}

// failingHandler returns the handler of a task whose graph has a declaration that fails.
func (s *setup) failingHandler() Handler {
	failure := &Failure{Kind: "expression", Message: "tools and providers: " + s.err.Error()}
	return HandlerFunc(func(context.Context, *Task) (any, error) { return nil, failure })
}

// findSetup returns the tools and providers of a scope's graph.
func (d *driver) findSetup(sc *machine.Scope) *setup {
	s := d.setups[sc.Plan()]
	if s == nil {
		s = &setup{}
		s.tools, s.providers, s.err = sc.Setup()
		d.flow.tree.Of(sc.Plan()).OfferGraphs(s.tools)
		d.setups[sc.Plan()] = s
	}
	return s
}

// shareSetup sets the tools, providers and models of a task.
func (d *driver) shareSetup(task *Task, id machine.TaskID, turns map[string]int) *setup {
	scopes := d.state.ScopesAround(id) // its own first
	own := d.findSetup(scopes[0])
	task.Tools, task.Providers = own.tools, own.providers
	answered := d.answered
	if d.host != nil { // nothing is kept from one task to the next
		answered = d.state.Scripted
	}
	goal := scopes[0].Goal()
	task.Models = &handler.ModelAccess{
		Goal: goal, OwnGoal: goal == task.Graph.Goal.Description.Value, Overrides: d.state.Models.Models, Dir: d.opts.Dir,
		Params: paramsOf(d.state.Models.Params, task.Node), Answered: answered, Secrets: d.mask.Values(), Turns: turns,
		ModelDesk: &desk{d, id, d.budgetFor(scopes)},
	}
	for _, sc := range scopes[1:] {
		task.Models.Around = append(task.Models.Around, d.modelScope(sc))
	}
	return own
}

// modelScope returns the models and providers of a graph.
func (d *driver) modelScope(sc *machine.Scope) handler.ModelScope {
	g := sc.Plan().Graph
	out := handler.ModelScope{Models: map[string]string{}, Providers: d.findSetup(sc).providers, Dir: d.dirOf(sc.Plan())}
	for i := range g.Models {
		if m := &g.Models[i]; m.Value.Kind == spec.String {
			out.Models[m.Key.Value] = m.Value.Text.Value
		}
	}
	return out
}
