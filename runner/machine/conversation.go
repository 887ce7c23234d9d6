// The conversation: messages that run through all model nodes (GraphSpec §9). Branches
// share what was said before they split. Where they meet, the list holds what they share,
// then what each added, in declaration order.

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/model"
)

// conversation holds each message of a run once. Lists hold positions in it, which never change.
type conversation []said

// said is a message. A summary covers earlier ones.
type said struct {
	Message
	Covers []int `json:"covers,omitempty"`
}

func (c *conversation) addMessage(list []int, m said) []int {
	*c = append(*c, m)
	return append(slices.Clip(list), len(*c)-1)
}

func (c conversation) messages(list []int) []Message {
	out := make([]Message, len(list))
	for i, at := range list {
		out[i] = c[at].Message
	}
	return out
}

// mergeLists joins the lists of branches: their shared beginning, summaries, other messages.
func (c conversation) mergeLists(lists [][]int) []int {
	shared := lists[0]
	for _, list := range lists[1:] {
		n := 0
		for n < min(len(shared), len(list)) && shared[n] == list[n] {
			n++
		}
		shared = shared[:n]
	}
	var summaries, others []int
	seen, covered := map[int]bool{}, map[int]bool{}
	for _, list := range lists {
		for _, at := range list[len(shared):] {
			switch {
			case seen[at]:
			case c[at].Covers == nil:
				others = append(others, at)
			default:
				summaries = append(summaries, at)
				for _, old := range c[at].Covers {
					covered[old] = true
				}
			}
			seen[at] = true
		}
	}
	added := slices.DeleteFunc(append(summaries, others...), func(at int) bool { return covered[at] })
	return append(slices.Clip(shared), added...)
}

// compactList puts a summary in the place of messages of a list.
func (c *conversation) compactList(list, covered []int, summary Message) []int {
	all := slices.Clone(covered)
	for _, at := range covered {
		all = append(all, (*c)[at].Covers...) // a summary of summaries
	}
	kept := slices.DeleteFunc(slices.Clone(list), func(at int) bool { return slices.Contains(covered, at) })
	return append(c.addMessage(nil, said{summary, all}), kept...)
}

// Message is one turn of a conversation.
type Message = model.Message

// ToolCall is a call of a tool by a model.
type ToolCall = model.ToolCall

// Part is a piece of a message: a text, an image, a file or audio.
type Part = model.Part

// TalkDelta holds the changes of a task to the conversation.
type TalkDelta struct {
	// Drop counts the oldest messages that Summary replaces. Add does not contain the summary.
	Drop    int      `json:"drop,omitempty"`
	Summary *Message `json:"summary,omitempty"`
	// Add are new messages, in order. Their Node is set when they are applied.
	Add []Message `json:"add,omitempty"`
}

// Talk is the conversation that one task sees.
type Talk struct {
	// Messages are those that the node sees, oldest first.
	Messages []Message
	// Own means that the visit has a list of its own. Done and Steps date from its beginning.
	Own bool
	// Continues means that Messages ends in the results of this node's own tool calls.
	Continues bool
	// Moved means that another model node spoke last. Ran lists the nodes since then.
	Moved bool
	Ran   []Ran
	// Done lists the last maxDone nodes of the task's past; Steps counts all of them.
	Done  []string
	Steps int
	// Prior is the output of an earlier visit, if HasPrior is set.
	Prior    string
	HasPrior bool
	// Feedback means that the model is told about earlier visits.
	Feedback bool
	// MaxTokens is the length above which messages before the last KeepLast turns are summarised;
	// 0 means never.
	MaxTokens int
	KeepLast  int
}

// Ran is a node that finished since a model last spoke.
type Ran struct {
	Node string `json:"node"`
	// Output is the beginning of its output as JSON, or of its failure.
	Output string `json:"output"`
	Failed bool   `json:"failed,omitempty"`
	// Task identifies the visit where branches meet.
	Task int `json:"task"`
}
