// Conversations as providers take them: each tool call followed by its result.

package model

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
)

// Paired returns messages in an order that providers accept: the results of an
// assistant's tool calls stand right behind it, in the order of its calls. A
// call that has no result, because a graph went elsewhere, gets one that says
// so; a result whose call is not in the list, because a part of the
// conversation is not shown, becomes a user's message. The given slice is
// returned when nothing is to be done, and never changed.
func Paired(messages []Message) []Message {
	if isPaired(messages) {
		return messages
	}
	p := pairing{done: make([]bool, len(messages)), results: map[string][]int{}}
	for i, m := range messages {
		if m.Role == ToolResult {
			p.results[m.ToolCallID] = append(p.results[m.ToolCallID], i)
		}
	}
	for i, m := range messages {
		switch {
		case p.done[i]:
		case m.Role == ToolResult:
			p.out = append(p.out, told(m))
		default:
			p.out = append(p.out, m)
			for _, call := range m.ToolCalls {
				p.out = append(p.out, p.result(messages, i, call))
			}
		}
	}
	return p.out
}

// told is a result without its call, as a user's message.
func told(m Message) Message {
	out := Message{Role: User, Content: fmt.Sprintf("Result of the tool %s: %s", m.Name, m.Content)}
	if len(m.Parts) > 0 {
		out.Parts = append([]Part{{Kind: TextPart, Text: fmt.Sprintf("Result of the tool %s:", m.Name)}}, m.Parts...)
	}
	return out
}

type pairing struct {
	out     []Message
	done    []bool           // messages that stand in out already
	results map[string][]int // by id of the call, in order
}

// result takes the first result behind a message that answers a call of it.
func (p *pairing) result(messages []Message, after int, call ToolCall) Message {
	for _, i := range p.results[call.ID] {
		if i > after && !p.done[i] {
			p.done[i] = true
			return messages[i]
		}
	}
	return Message{Role: ToolResult, ToolCallID: call.ID, Name: call.Name, IsError: true, Content: "this call was not carried out"}
}

func isPaired(messages []Message) bool {
	for i := 0; i < len(messages); {
		m := messages[i]
		if m.Role == ToolResult {
			return false
		}
		i++
		for _, call := range m.ToolCalls {
			if i >= len(messages) || messages[i].Role != ToolResult || messages[i].ToolCallID != call.ID {
				return false
			}
			i++
		}
	}
	return true
}

// HasPrefix reports whether a list begins with another, told by what is the same in
// memory: messages are never changed, and comparing their texts costs nothing then.
func HasPrefix(messages, prefix []Message) bool {
	if len(messages) < len(prefix) {
		return false
	}
	for i := len(prefix) - 1; i >= 0; i-- { // where they differ, they mostly do at the end
		if !sameMessage(&messages[i], &prefix[i]) {
			return false
		}
	}
	return true
}

func sameMessage(a, b *Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.ToolCallID == b.ToolCallID && a.Name == b.Name && a.IsError == b.IsError &&
		slices.Equal(a.Parts, b.Parts) && bytes.Equal(a.Thinking, b.Thinking) &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(c, d ToolCall) bool {
			return c.ID == d.ID && c.Name == d.Name && c.Malformed == d.Malformed &&
				len(c.Args) == len(d.Args) && reflect.ValueOf(c.Args).Pointer() == reflect.ValueOf(d.Args).Pointer()
		})
}
