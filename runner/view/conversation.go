// What nodes asked models and got from them, for those who read a run.

package view

import "github.com/graphrun/graphrun/runner/machine"

// Spoken is what a task has added to the conversation.
type Spoken struct {
	// Node is the path of the node. Place is that path with the elements that the task is
	// inside, and its own: s[1]/write[0].
	Node    string `json:"node"`
	Place   string `json:"place"`
	Visit   int    `json:"visit"`
	Attempt int    `json:"attempt"`
	// Dropped is how many of the oldest messages the first one, a summary, stands for;
	// 0: it is none.
	Dropped int `json:"dropped,omitempty"`
	// Messages are in order. What a model thought is left out.
	Messages []machine.Message `json:"messages"`
}

// ConversationSink is what a runner.Sink may be besides: it is then told what tasks have
// added to the conversation, by those who read a recorded run: Replay, ReplayEvents,
// Follow, and Show with History. What it is told is its own.
type ConversationSink interface {
	Spoken(s *Spoken) error
}
