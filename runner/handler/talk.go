// The conversation of a task.

package handler

import (
	"sync"

	"github.com/graphrun/graphrun/runner/machine"
)

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
