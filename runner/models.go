// What tasks that call models get from their run: the conversation, the
// budget, a journal for paid calls.

package runner

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Message is one turn of a conversation.
type Message = machine.Message

// ToolCall is one call of a tool that a model asks for.
type ToolCall = machine.ToolCall

// Part is a piece of a message that is more than a text.
type Part = machine.Part

// CallUsage is what a call of a model came to.
type CallUsage = machine.Usage

// Talk is the conversation of a task, and what the task adds to it. What a
// task that fails has added is forgotten.
type Talk struct {
	machine.Talk
	mu    sync.Mutex
	delta machine.TalkDelta
}

// Say adds messages, in order.
func (t *Talk) Say(messages ...Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delta.Add = append(t.delta.Add, messages...)
}

// Compact puts a summary in the place of the oldest messages that the task was
// given.
func (t *Talk) Compact(oldest int, summary Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delta.Drop, t.delta.Summary = oldest, &summary
}

// Added is what the task has added; nil: nothing.
func (t *Talk) Added() *machine.TalkDelta {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.delta.Drop == 0 && len(t.delta.Add) == 0 {
		return nil
	}
	out := t.delta
	return &out
}

// ModelParam is a parameter of model nodes that the caller of a run sets.
type ModelParam = machine.ModelParam

// ModelScope is what a graph declares of models: providers by name, and models by
// role, in which paths are relative to Dir.
type ModelScope struct {
	Models    map[string]string
	Providers map[string]any
	Dir       string
}

// modelScopes are those of the graphs around one that the task runs.
func (t *Task) modelScopes() []ModelScope {
	own := ModelScope{Models: map[string]string{}, Providers: t.Providers, Dir: t.Dir}
	for i := range t.Graph.Models {
		if m := &t.Graph.Models[i]; m.Value.Kind == spec.String {
			own.Models[m.Key.Value] = m.Value.Text.Value
		}
	}
	return append([]ModelScope{own}, t.Models.Around...)
}

// ModelAccess is what a task that calls models has of its run. It is safe for
// concurrent use.
type ModelAccess struct {
	// Goal is the goal of the run in words; OwnGoal says that it is the graph's.
	Goal    string
	OwnGoal bool
	// Overrides are the models that the caller of the run chose, by role; paths
	// in them are relative to Dir.
	Overrides map[string]string
	Dir       string
	// Around are the models of the graphs around the task's, the run's own last.
	Around []ModelScope
	// Params are the parameters that the caller set for the task's node, by key.
	Params map[string]any
	// Secrets are the texts that the run masks; a recording must not hold them.
	Secrets []string
	// Turns counts, by role, the calls that the visit made in earlier attempts.
	Turns map[string]int
	// Answered are the calls that scripts answered before the run was taken up.
	Answered []CallUsage
	// Desk is where the run keeps account of calls; it is never nil in a handler.
	Desk ModelDesk
}

// ModelDesk keeps account of the calls of models that a task makes.
type ModelDesk interface {
	// Note journals a finished call: what Log is to hold of it, and what it came
	// to. It returns when that is durable; see Task.Note.
	Note(data any, call CallUsage) error
	// Reserve keeps room in the run's budget for a call; see Reservation.
	Reserve(r Reservation) (*Reserved, error)
	// Hide masks a text in everything that the run shows from now on.
	Hide(secret string)
	// Sleep waits, by the clock of the run.
	Sleep(ctx context.Context, d time.Duration) error
	// Now is the time by that clock: what a call took is measured with it.
	Now() time.Time
}

// Note is that of the Desk.
func (m *ModelAccess) Note(data any, call CallUsage) error { return m.Desk.Note(data, call) }

// Reserve is that of the Desk.
func (m *ModelAccess) Reserve(r Reservation) (*Reserved, error) { return m.Desk.Reserve(r) }

// Hide is that of the Desk; an empty text is not masked.
func (m *ModelAccess) Hide(secret string) {
	if secret != "" {
		m.Desk.Hide(secret)
	}
}

// Sleep is that of the Desk.
func (m *ModelAccess) Sleep(ctx context.Context, d time.Duration) error { return m.Desk.Sleep(ctx, d) }

// Now is that of the Desk.
func (m *ModelAccess) Now() time.Time { return m.Desk.Now() }

// desk is that of a task of a driver.
type desk struct {
	driver *driver
	task   machine.TaskID
}

// Note journals a finished call.
func (k *desk) Note(data any, call CallUsage) error { return k.driver.sendNote(k.task, data, &call) }

// Reserve keeps room in the run's budget.
func (k *desk) Reserve(r Reservation) (*Reserved, error) { return k.driver.budget.reserve(r) }

// Hide masks a text.
func (k *desk) Hide(secret string) { k.driver.send(message{learn: []string{secret}}) }

// Sleep waits, by the clock of the runner.
func (k *desk) Sleep(ctx context.Context, d time.Duration) error {
	if k.driver.outermost().opts.Rush {
		return ctx.Err()
	}
	return sleep(ctx, k.driver.clock, d)
}

// Now is the time of the run.
func (k *desk) Now() time.Time { return time.Unix(0, k.driver.now()) }

// access gives a task what it needs to call models.
func (d *driver) access(task *Task, id machine.TaskID, turns map[string]int) {
	settings, answered := d.state.Models(), d.answered
	if d.pace.OnStage() { // nothing is kept from one task to the next
		answered = d.outermost().state.Scripted()
	}
	task.Models = &ModelAccess{
		Goal: d.state.Goal(), OwnGoal: d.state.Goal() == d.flow.graph.Goal.Description.Value,
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
func paramsOf(params []ModelParam, path string) map[string]any {
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
func (d *driver) talkOf(talk *machine.Talk) *Talk {
	if talk == nil {
		return nil
	}
	out := &Talk{Talk: *talk}
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
