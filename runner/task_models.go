// What tasks that call models get from their run: the conversation, the
// budget, a journal for paid calls.

package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/internal/wallclock"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// modelScopes are those of the graphs around one that the task runs.
func (t *Task) modelScopes() []handler.ModelScope {
	own := handler.ModelScope{Models: map[string]string{}, Providers: t.Providers, Dir: t.Dir}
	for i := range t.Graph.Models {
		if m := &t.Graph.Models[i]; m.Value.Kind == spec.String {
			own.Models[m.Key.Value] = m.Value.Text.Value
		}
	}
	return append([]handler.ModelScope{own}, t.Models.Around...)
}

// desk is that of a task of a driver.
type desk struct {
	driver *driver
	task   machine.TaskID
}

// Note journals a finished call.
func (k *desk) Note(data any, call handler.Usage) error {
	return k.driver.sendNote(k.task, data, &call)
}

// Reserve keeps room in the run's budget.
func (k *desk) Reserve(r handler.Reservation) (*handler.Reserved, error) {
	return k.driver.budget.Reserve(r)
}

// Hide masks a text.
func (k *desk) Hide(secret string) { k.driver.send(message{learn: []string{secret}}) }

// Sleep waits, by the clock of the runner.
func (k *desk) Sleep(ctx context.Context, d time.Duration) error {
	if k.driver.outermost().opts.Rush {
		return ctx.Err()
	}
	return wallclock.Sleep(ctx, k.driver.clock, d)
}

// Now is the time of the run.
func (k *desk) Now() time.Time { return time.Unix(0, k.driver.now()) }

// access gives a task what it needs to call models.
func (d *driver) access(task *Task, id machine.TaskID, turns map[string]int) {
	settings, answered := d.state.Models(), d.answered
	if d.pace.OnStage() { // nothing is kept from one task to the next
		answered = d.outermost().state.Scripted()
	}
	task.Models = &handler.ModelAccess{
		Goal: d.state.Goal(), OwnGoal: d.state.Goal() == d.flow.tree.Graph.Goal.Description.Value,
		Overrides: settings.Models, Dir: d.modelDir(), Params: paramsOf(settings.Params, task.Node), Answered: answered,
		Secrets: slices.Clone(d.mask.Values), Turns: turns,
		Desk: &desk{d, id},
	}
	if d.nested != nil {
		task.Models.Around = d.nested.around
	}
}

// modelDir is the folder of the run's own graph: what its caller names is
// relative to it, in subgraphs too.
func (d *driver) modelDir() string {
	if d.nested != nil {
		return d.nested.parent.modelDir()
	}
	return d.opts.Dir
}

// paramsOf are the parameters that the caller set for a node; the last one
// stands, one for the node itself before one for all.
func paramsOf(params []handler.ModelParam, path string) map[string]any {
	if len(params) == 0 {
		return nil
	}
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

// talkOf is a task's conversation; what the marker tells of is masked.
func (d *driver) talkOf(talk *machine.Talk) *handler.Talk {
	if talk == nil {
		return nil
	}
	out := &handler.Talk{Talk: *talk}
	out.Ran = make([]machine.Ran, len(talk.Ran))
	for i, ran := range talk.Ran {
		ran.Output = d.mask.Text(ran.Output)
		out.Ran[i] = ran
	}
	return out
}

// spent tells of a call's usage, here and to the run around.
func (d *driver) spent(m *message) {
	call := m.event.Usage
	if call == nil {
		return
	}
	d.tellUsage(&m.event)
	if d.nested != nil {
		// A run around that is over counts nothing more.
		_ = d.nested.parent.sendNote(d.nested.task, nil, call)
	}
}

// tellUsage tells what a call of a model came to, if the event is about one. A
// subgraph has told of its own.
func (d *driver) tellUsage(event *machine.Event) {
	if call := event.Usage; call != nil && call.Node == d.nested.path(event.Task.Node) && d.tells() {
		d.event = Event{
			Type: LLMUsage, Time: time.Unix(0, event.At), Node: call.Node, Visit: call.Visit, Attempt: event.Task.Attempt, Usage: call,
		}
		d.emit()
	}
}

// tells reports whether an event is told. One of a subgraph that nobody watches is only
// counted.
func (d *driver) tells() bool {
	if d.state.Watched && d.nested != nil && !d.watched {
		d.outermost().untold.Add(1)
		return false
	}
	return d.state.Watched
}
