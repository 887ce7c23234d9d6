// What the tasks of a run share: declarations, and things that live as long as
// the run.

package runner

import (
	"context"
)

// setup is what a driver knows of the run's tools and providers.
type setup struct {
	done             bool
	tools, providers map[string]any
	err              error
}

// share gives a task what it shares with others.
func (d *driver) share(task *Task) {
	if !d.setup.done {
		d.setup.done = true
		d.setup.tools, d.setup.providers, d.setup.err = d.state.Setup()
		d.flow.tree.OfferGraphs(d.setup.tools)
	}
	task.Hooks = d.hooks(task.Node)
	task.Graph, task.Scope = d.flow.tree.Graph, d.scope
	task.Tools, task.Providers = d.setup.tools, d.setup.providers
}

// unready is the handler of a task for which the setup failed.
func (d *driver) unready() Handler {
	failure := &Failure{Kind: "expression", Message: "tools and providers: " + d.setup.err.Error()}
	return HandlerFunc(func(context.Context, *Task) (any, error) { return nil, failure })
}
