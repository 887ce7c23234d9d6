package model

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// formatMessages returns messages as words: u, a, a(1,2) with calls, 1 or 1! for results.
func formatMessages(messages []Message) string {
	var out []string
	for _, m := range messages {
		word := string(m.Role[0])
		switch {
		case m.Role == ToolResult:
			word = m.ToolCallID
			if m.IsError {
				word += "!"
			}
		case len(m.ToolCalls) > 0:
			var ids []string
			for _, c := range m.ToolCalls {
				ids = append(ids, c.ID)
			}
			word += "(" + strings.Join(ids, ",") + ")"
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

func parseMessages(text string) []Message {
	var out []Message
	for _, word := range strings.Fields(text) {
		name, ids, _ := strings.Cut(strings.TrimSuffix(word, ")"), "(")
		switch {
		case name == "u":
			out = append(out, Message{Role: User, Content: "hi"})
		case name == "a":
			m := Message{Role: Assistant}
			for id := range strings.SplitSeq(ids, ",") {
				if id != "" {
					m.ToolCalls = append(m.ToolCalls, ToolCall{ID: id})
				}
			}
			out = append(out, m)
		default:
			out = append(out, Message{Role: ToolResult, ToolCallID: name, Name: "t", Content: "r"})
		}
	}
	return out
}

func TestPaired(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"u a u", "u a u"},
		{"u a(1,2) 1 2 a", "u a(1,2) 1 2 a"},
		{"u a(1,2) 2 1 a", "u a(1,2) 1 2 a"},
		{"u a(1,2) u 1 a 2", "u a(1,2) 1 2 u a"},
		{"u a(1,2) 2", "u a(1,2) 1! 2"},
		{"a(1)", "a(1) 1!"},
		{"1 u a(1)", "u u a(1) 1!"},
	} {
		in := parseMessages(test.in)
		got := PairResults(in)
		if s := formatMessages(got); s != test.want {
			t.Errorf("%s: got %s, want %s", test.in, s, test.want)
		}
		if s := formatMessages(in); s != test.in {
			t.Errorf("%s was changed to %s", test.in, s)
		}
		if !isPaired(got) {
			t.Errorf("%s: %s is not paired", test.in, formatMessages(got))
		}
	}
	if got := PairResults(parseMessages("5"))[0].Content; got != "Result of the tool t: r" {
		t.Errorf("got %s", got)
	}
}

func TestPairedAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{"u", "a", "a(1)", "a(2,3)", "a(1,1)", "1", "2", "3", "4"})).Draw(t, "words")
		in := parseMessages(strings.Join(words, " "))
		got := PairResults(in)
		if !isPaired(got) {
			t.Fatalf("%s", formatMessages(got))
		}
		if twice := PairResults(got); fmt.Sprint(twice) != fmt.Sprint(got) {
			t.Fatalf("%s becomes %s", formatMessages(got), formatMessages(twice))
		}
	})
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
