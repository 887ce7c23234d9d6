// What nodes asked models and got from them, for those who read a run.

package runner

import (
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
)

// tellSpoken tells what a task that has ended added to the conversation.
func (d *driver) tellSpoken(event *machine.Event) {
	outer := d.outermost()
	sink, wants := outer.opts.Sink.(view.ConversationSink)
	if !wants || event.Talk == nil || outer.sinkErr != nil {
		return
	}
	out := &view.Spoken{
		Node: d.nested.path(event.Task.Node), Place: d.nested.prefixOf(event.Task.Node, event.Task.Element-1),
		Visit: event.Task.Visit, Attempt: event.Task.Attempt, Dropped: event.Talk.Drop, Messages: []machine.Message{},
	}
	add := func(m handler.Message) {
		m.Thinking = nil
		out.Messages = append(out.Messages, d.mask.Message(m))
	}
	if event.Talk.Summary != nil {
		add(*event.Talk.Summary)
	}
	for _, m := range event.Talk.Add {
		add(m)
	}
	if len(out.Messages) > 0 {
		outer.sinkErr = sink.Spoken(out)
	}
}
