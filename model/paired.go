// Conversations in the form that providers take.

package model

import (
	"fmt"
	"slices"
)

// Paired returns messages in which the results of tool calls follow their calls, in the
// order of the calls. A missing result, because the graph went elsewhere, becomes an
// error; a result without its call becomes a message of the user. Paired never changes
// the given slice.
func Paired(messages []Message) []Message {
	out := make([]Message, 0, len(messages))
	placed := make([]bool, len(messages))
	for i, m := range messages {
		switch {
		case placed[i]:
			continue
		case m.Role == ToolResult:
			out = append(out, asUser(m))
			continue
		}
		out = append(out, m)
		for _, call := range m.ToolCalls {
			at := i + 1
			for at < len(messages) && (placed[at] || messages[at].Role != ToolResult || messages[at].ToolCallID != call.ID) {
				at++
			}
			if at == len(messages) {
				out = append(out, Message{Role: ToolResult, ToolCallID: call.ID, Name: call.Name, IsError: true, Content: "this call was not carried out"})
				continue
			}
			placed[at] = true
			out = append(out, messages[at])
		}
	}
	return out
}

// asUser returns a result without its call as a message of the user.
func asUser(m Message) Message {
	out := Message{Role: User, Content: fmt.Sprintf("Result of the tool %s: %s", m.Name, m.Content)}
	if len(m.Parts) > 0 {
		out.Parts = slices.Insert(slices.Clone(m.Parts), 0, Part{Kind: TextPart, Text: fmt.Sprintf("Result of the tool %s:", m.Name)})
	}
	return out
}
