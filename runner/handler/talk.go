// The conversation of a task.

package handler

import (
	"sync"

	"github.com/graphrun/graphrun/runner/machine"
)

// Talk is the conversation of a task, and what the task adds to it unless it fails.
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

// Compact replaces the oldest messages by a summary.
func (t *Talk) Compact(oldest int, summary Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delta.Drop, t.delta.Summary = oldest, &summary
}

// Added returns what the task has added, or nil.
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
