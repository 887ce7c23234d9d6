// The conversation: one list of messages that runs through all model nodes
// (GraphSpec §9). Branches share what was said before they parted; where they
// meet, the list is what they have in common, then what each added, in
// declaration order of the branches.

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/model"
)

// conversation holds every list of messages of a run as plain data: what was
// said, once each, and lists of it that share their beginnings.
type conversation struct {
	Said  []said `json:"said,omitempty"`
	Links []link `json:"links,omitempty"`
	// read is what messages gave last: the next list mostly begins with it.
	read *readList
}

// readList is a list of messages that was read, and their places.
type readList struct {
	places   []int32
	messages []Message
}

// said is a message. Its place in conversation.said tells it from others with
// the same words.
type said struct {
	Message
	// Covers lists the messages that this one, a summary, stands for.
	Covers []int32 `json:"covers,omitempty"`
}

// link is the list of its parent and one message more. Lists are named by the
// place of their last link, counted from 1; 0 is the empty list.
type link struct {
	Parent int32 `json:"parent,omitempty"`
	Said   int32 `json:"said"`
	Length int32 `json:"length"`
}

func (c *conversation) length(list int32) int32 {
	if list == 0 {
		return 0
	}
	return c.Links[list-1].Length
}

// append is a list and one message more that has been said.
func (c *conversation) append(list, message int32) int32 {
	c.Links = append(c.Links, link{Parent: list, Said: message, Length: c.length(list) + 1})
	return int32(len(c.Links))
}

// say adds a message to a list.
func (c *conversation) say(list int32, m said) int32 {
	c.Said = append(c.Said, m)
	return c.append(list, int32(len(c.Said)-1))
}

// of returns a list as places in said, oldest first, without its first n.
func (c *conversation) of(list int32, n int32) []int32 {
	out := make([]int32, max(0, c.length(list)-n))
	for i := len(out) - 1; i >= 0; i-- {
		l := &c.Links[list-1]
		out[i], list = l.Said, l.Parent
	}
	return out
}

// common is the longest beginning that two lists share.
func (c *conversation) common(a, b int32) int32 {
	for a != b {
		if c.length(a) >= c.length(b) {
			a = c.Links[a-1].Parent
		} else {
			b = c.Links[b-1].Parent
		}
	}
	return a
}

// merge joins the lists of branches that meet, given in declaration order. A
// message is said once; summaries come first, and what they cover is gone.
func (c *conversation) merge(lists []int32) int32 {
	out, longest := lists[0], lists[0]
	for _, list := range lists[1:] {
		out = c.common(out, list)
		if c.length(list) > c.length(longest) {
			longest = list
		}
	}
	have := map[int32]bool{}
	var order, summaries []int32
	covered := map[int32]bool{}
	for _, list := range lists {
		for _, at := range c.of(list, c.length(out)) {
			for _, old := range c.Said[at].Covers {
				covered[old] = true
			}
			if have[at] {
				continue
			}
			have[at] = true
			if c.Said[at].Covers != nil {
				summaries = append(summaries, at)
			} else {
				order = append(order, at)
			}
		}
	}
	order = slices.DeleteFunc(append(summaries, order...), func(at int32) bool { return covered[at] })
	if slices.Equal(order, c.of(longest, c.length(out))) {
		return longest // one branch alone has spoken
	}
	for _, at := range order {
		out = c.append(out, at)
	}
	return out
}

// compact puts a summary in the place of messages of a list.
func (c *conversation) compact(list int32, covered []int32, summary Message) int32 {
	gone, all := make(map[int32]bool, len(covered)), slices.Clone(covered)
	for _, at := range covered {
		gone[at] = true
		all = append(all, c.Said[at].Covers...) // a summary of summaries
	}
	whole := c.of(list, 0)
	out := c.say(0, said{Message: summary, Covers: all})
	for _, at := range whole {
		if !gone[at] {
			out = c.append(out, at)
		}
	}
	return out
}

// messages returns what is at places of said. The list must not be changed: that of
// the next turn shares its beginning.
func (c *conversation) messages(places []int32) []Message {
	if len(places) == 0 {
		return []Message{}
	}
	if c.read == nil || len(c.read.places) > len(places) || !slices.Equal(c.read.places, places[:len(c.read.places)]) {
		c.read = &readList{messages: make([]Message, 0, len(places))}
	}
	for _, at := range places[len(c.read.places):] {
		c.read.places, c.read.messages = append(c.read.places, at), append(c.read.messages, c.Said[at].Message)
	}
	return c.read.messages[:len(places):len(places)]
}

// Message is one turn of a conversation.
type Message = model.Message

// ToolCall is a call of a tool by a model.
type ToolCall = model.ToolCall

// Part is a piece of a message: a text, an image, a file or audio.
type Part = model.Part

// TalkDelta is what a task adds to the conversation.
type TalkDelta struct {
	// Drop says how many of the oldest messages that the task was given are
	// replaced by Summary, which is no part of Add.
	Drop    int      `json:"drop,omitempty"`
	Summary *Message `json:"summary,omitempty"`
	// Add are new messages, in order. Their Node is set when they are applied.
	Add []Message `json:"add,omitempty"`
}

// Talk is the conversation as one task gets it.
type Talk struct {
	// Messages is what the node sees, oldest first.
	Messages []Message
	// Own says that the visit has a list of its own; Done and Steps are then
	// those of its beginning.
	Own bool
	// Continues says that Messages ends in the results of the tool calls that
	// this node's last answer asked for: the visit goes on from there.
	Continues bool
	// Moved says that the last model node of the conversation was another one;
	// Ran lists what ran since then.
	Moved bool
	Ran   []Ran
	// Done lists the nodes that finished on the way to this task, the last
	// maxDone of them; Steps is how many there were.
	Done  []string
	Steps int
	// Prior is the node's output before, when its visit before gave one and the
	// node is to be told.
	Prior    string
	HasPrior bool
	// Feedback says that the node is to be told of earlier visits.
	Feedback bool
	// MaxTokens is the length from which on the oldest messages are summarised,
	// but for the last KeepLast turns; 0: never.
	MaxTokens int
	KeepLast  int
}

// Ran is a node that finished since a model last spoke.
type Ran struct {
	Node string `json:"node"`
	// Output is the beginning of its output as JSON, or what it failed with.
	Output string `json:"output"`
	Failed bool   `json:"failed,omitempty"`
	// Task tells two visits apart where branches meet.
	Task int `json:"task"`
}
