// Tools, providers and models, which the tasks of a graph share.

package runner

import (
	"context"
	"maps"
	"time"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// accounting implements handler.ModelAccounting for a task.
type accounting struct {
	*budget // of the task's graph
	driver  *driver
	task    machine.TaskID
}

// Note journals a finished call.
func (k *accounting) Note(data any, call handler.Usage) error {
	return k.driver.sendNote(k.task, data, &call, 0)
}

// Hide masks a text from now on.
func (k *accounting) Hide(secret string) {
	k.driver.sendMessage(func() *machine.Event {
		k.driver.mask.HideText(secret)
		return nil
	})
}

// Sleep waits by the clock of the run.
func (k *accounting) Sleep(ctx context.Context, d time.Duration) error {
	if k.driver.opts.Rush {
		return ctx.Err()
	}
	return sleep(ctx, k.driver.clock, d)
}

// Now returns the time of the run.
func (k *accounting) Now() time.Time { return time.Unix(0, k.driver.now()) }

// nodeParams returns the caller's parameters for a node. Parameters for the node override those for all
// nodes, and later ones override earlier ones.
func nodeParams(params []handler.ModelParam, path string) map[string]any {
	all, own := map[string]any{}, map[string]any{} // by key
	for _, p := range params {
		switch p.Node {
		case "":
			all[p.Key] = p.Value
		case path:
			own[p.Key] = p.Value
		}
	}
	maps.Copy(all, own)
	return all
}

// newTalk returns the conversation of a task, with outputs of other nodes masked.
func (d *driver) newTalk(talk *machine.Talk) *handler.Talk {
	if talk == nil {
		return nil
	}
	out := &handler.Talk{Talk: *talk}
	out.Ran = make([]machine.FinishedNode, len(talk.Ran))
	for i, ran := range talk.Ran {
		ran.Output = d.mask.MaskText(ran.Output)
		out.Ran[i] = ran
	}
	return out
}

// emitUsage emits the usage of a model call, if the event is about one.
func (d *driver) emitUsage(event *machine.Event) {
	if call := event.Usage; call != nil {
		d.beginEvent(LLMUsage, event.At, event.Task)
		d.event.Usage, d.event.Node, d.event.Visit = call, call.Node, call.Visit
		d.emitEvent()
	}
}

// graphSetup holds the evaluated tools and providers of a graph.
type graphSetup struct {
	tools, providers map[string]any
	err              error
}

// findSetup returns the tools and providers of a scope's graph.
func (d *driver) findSetup(sc *machine.Scope) *graphSetup {
	s := d.setups[sc.Plan()]
	if s == nil {
		s = &graphSetup{}
		s.tools, s.providers, s.err = sc.Setup()
		d.flow.tree.FindTree(sc.Plan()).AddGraphDefaults(s.tools)
		d.setups[sc.Plan()] = s
	}
	return s
}

// attachSetup sets the tools, providers and models of a task.
func (d *driver) attachSetup(task *Task, id machine.TaskID, turns map[string]int) *graphSetup {
	scopes := d.state.ScopesAround(id) // innermost first
	own := d.findSetup(scopes[0])
	task.Tools, task.Providers = own.tools, own.providers
	answered := d.answered
	if d.host != nil { // a hosted run keeps no clients between tasks
		answered = d.state.Scripted
	}
	goal := scopes[0].Goal()
	task.Models = &handler.ModelAccess{
		Goal: goal, OwnGoal: goal == task.Graph.Goal.Description.Value, Overrides: d.state.Models.Models, Dir: d.opts.Dir,
		Params: nodeParams(d.state.Models.Params, task.Node), Answered: answered, Secrets: d.mask.HiddenTexts(), Turns: turns,
		ModelAccounting: &accounting{d.budgetFor(scopes), d, id},
	}
	for _, sc := range scopes[1:] {
		task.Models.Around = append(task.Models.Around, d.modelScope(sc))
	}
	return own
}

// modelScope returns the models and providers of a scope's graph.
func (d *driver) modelScope(sc *machine.Scope) handler.ModelScope {
	g := sc.Plan().Graph
	out := handler.ModelScope{Models: map[string]string{}, Providers: d.findSetup(sc).providers, Dir: d.graphDir(sc.Plan())}
	for i := range g.Models {
		if m := &g.Models[i]; m.Value.Kind == spec.String {
			out.Models[m.Key.Value] = m.Value.Text.Value
		}
	}
	return out
}
