// What tasks that call models get from their run: conversation, budget, a journal of calls.

package runner

import (
	"context"
	"maps"
	"time"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
)

// desk is the handler.ModelDesk of a task.
type desk struct {
	driver *driver
	task   machine.TaskID
	budget *budget
}

// Note journals a finished call.
func (k *desk) Note(data any, call handler.Usage) error {
	return k.driver.sendNote(k.task, data, &call)
}

// Reserve keeps room in the run's budget.
func (k *desk) Reserve(r handler.Reservation) (*handler.Reserved, error) {
	return k.budget.Reserve(r)
}

// Hide masks a text.
func (k *desk) Hide(secret string) {
	k.driver.sendMessage(func() *machine.Event {
		k.driver.mask.HideText(secret)
		return nil
	})
}

// Sleep waits by the clock of the run.
func (k *desk) Sleep(ctx context.Context, d time.Duration) error {
	if k.driver.opts.Rush {
		return ctx.Err()
	}
	return sleep(ctx, k.driver.clock, d)
}

// Now is the time of the run.
func (k *desk) Now() time.Time { return time.Unix(0, k.driver.now()) }

// paramsOf returns the caller's parameters for a node. Its own override those for all nodes; the
// last one counts.
func paramsOf(params []handler.ModelParam, path string) map[string]any {
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

// newTalk returns the conversation of a task. Outputs of programs are masked.
func (d *driver) newTalk(talk *machine.Talk) *handler.Talk {
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

// emitUsage emits the usage of a call of a model, if the event is about one.
func (d *driver) emitUsage(event *machine.Event) {
	if call := event.Usage; call != nil {
		d.beginEvent(LLMUsage, event.At, event.Task)
		d.event.Usage, d.event.Node, d.event.Visit = call, call.Node, call.Visit
		d.emit()
	}
}
