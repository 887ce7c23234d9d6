// The conversation, for readers of a run.

package view

import "github.com/graphrun/graphrun/runner/machine"

// Spoken holds the messages that a task has added to the conversation.
type Spoken struct {
	// Node is the path of the node, Place that path with elements: s[1]/write[0].
	Node    string `json:"node"`
	Place   string `json:"place"`
	Visit   int    `json:"visit"`
	Attempt int    `json:"attempt"`
	// Dropped is how many of the oldest messages the first message summarises.
	Dropped int `json:"dropped,omitempty"`
	// Messages are in order and without the reasoning of models.
	Messages []machine.Message `json:"messages"`
}

// ConversationSink is a runner.Sink for the conversation of recorded runs: Replay, Follow, and
// Show with History.
type ConversationSink interface {
	Spoken(s *Spoken) error
}
