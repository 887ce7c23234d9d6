// Conversations as providers take them: each tool call followed by its result.

package model

import "fmt"

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
