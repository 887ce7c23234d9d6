package machine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner/machine"
)

// chatter is what a task adds to the conversation: a question and its answer.
func chatter(id machine.TaskID) *machine.TalkDelta {
	what := fmt.Sprintf("%s#%d.%d", id.Node, id.Visit, id.Element)
	return &machine.TalkDelta{Add: []machine.Message{{Role: "user", Content: "? " + what}, {Role: "assistant", Content: "! " + what}}}
}

// talking is a random graph whose programs are models, each with a
// conversation that one of modes says.
func talking(t testing.TB, seed uint64, size int, modes ...string) *generated {
	g := nested(t, seed, size)
	r := rand.New(rand.NewPCG(seed, 4))
	const program = "kind: exec, command: [x]"
	parts := strings.Split(g.flow, program)
	g.flow = parts[0]
	for _, part := range parts[1:] {
		g.flow += "kind: llm, prompt: x" + modes[r.IntN(len(modes))] + part
	}
	g.plan = compile(t, g.flow)
	return g
}

// checkTalk checks what holds for every list of messages: nobody is heard twice,
// and an answer stands behind its question.
func checkTalk(t *testing.T, where string, messages []machine.Message) {
	t.Helper()
	heard := map[string]bool{}
	for i, m := range messages {
		if heard[m.Content] {
			t.Errorf("%s: %q is heard twice", where, m.Content)
		}
		heard[m.Content] = true
		if m.Role == "assistant" && (i == 0 || messages[i-1].Content != "?"+m.Content[1:]) {
			t.Errorf("%s: %q stands alone", where, m.Content)
		}
		if node, _, _ := strings.Cut(m.Content[2:], "#"); m.Node != node {
			t.Errorf("%s: %q was said by %q", where, m.Content, m.Node)
		}
	}
}

// Random graphs in random orders: the conversation does not depend on which
// branch was quicker, and a state that was restored from a snapshot has it, too.
func TestPropertyConversation(t *testing.T) {
	forEachGraph(t, cases()/10, func(t *testing.T, seed uint64, size int) {
		g := talking(t, seed, size, "")
		var first []machine.Message
		for order := range uint64(orders) {
			s := g.inOrder(t, order)
			got := s.state.Conversation()
			checkTalk(t, "at the end", got)
			if g.calm && order > 0 {
				if diff := cmp.Diff(first, got); diff != "" {
					t.Errorf("order %d, another conversation:\n%s", order, diff)
				}
			}
			if said := saidIn(s.events); g.calm && said != len(got) {
				t.Errorf("%d messages were said, the conversation has %d", said, len(got))
			}
			first = got
			if order == 3 {
				throughSnapshots(t, g.plan, s.events)
			}
			if t.Failed() {
				g.explain(t, seed, order)
				return
			}
		}
	})
}

// saidIn counts the messages of a journal.
func saidIn(events []machine.Event) int {
	n := 0
	seen := map[machine.TaskID]bool{}
	for _, e := range events {
		if e.Talk != nil && !seen[e.Task] {
			seen[e.Task] = true
			n += len(e.Talk.Add)
		}
	}
	return n
}

// Whatever nodes want to see: nobody hears a thing twice, isolated nodes hear
// nobody and are not heard, and own is what the node itself said.
func TestPropertySeen(t *testing.T) {
	modes := []string{"", ", conversation: isolated", ", conversation: reset", ", conversation: {see: own}", ", conversation: {see: branch}"}
	forEachGraph(t, cases()/20, func(t *testing.T, seed uint64, size int) {
		g := talking(t, seed, size, modes...)
		s := newSim(t, g.plan, func(id machine.TaskID, _ int) (answer reply) {
			if g.breaks[id.Node] || g.flaky[id.Node] && id.Attempt == 1 {
				answer.failure = &machine.Failure{Kind: "failed", Message: "no"}
			}
			return answer
		})
		says := func(node, mode string) bool {
			return strings.Contains(g.flow, "  "+node+": {kind: llm, prompt: x"+mode)
		}
		s.told = func(c machine.Command) {
			if c.Work.Talk == nil {
				return
			}
			messages, node := c.Work.Talk.Messages, c.Task.Node
			checkTalk(t, node, messages)
			alone := says(node, modes[1]) || says(node, modes[2])
			if alone && len(messages) > 0 {
				t.Errorf("%s hears %v", node, messages)
			}
			if slices.ContainsFunc(messages, func(m machine.Message) bool {
				return says(m.Node, modes[1]) || says(node, modes[3]) && m.Node != node
			}) {
				t.Errorf("%s hears who it must not: %v", node, messages)
			}
		}
		s.run(machine.RunInfo{}, nil)
		throughSnapshots(t, g.plan, s.events)
		g.explain(t, seed, 0)
	})
}

// Replays end in the same conversation, journaled as JSON or not.
func TestConversationOfReplay(t *testing.T) {
	plan := build(t, head+`
nodes: {a: {kind: llm, prompt: x, tools: [t]}, b: {kind: tools}}
tools: {t: {exec: {command: [x]}}}
edges: [{from: a, to: b, when: visits.a < 2}, {from: b, to: a}, {from: a, to: END}]`)
	call := machine.ToolCall{ID: "1", Name: "t", Args: map[string]any{"n": 1, "f": 1.5, "big": 1 << 60}}
	events := []machine.Event{
		{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "r", Talk: []machine.Message{{Role: "user", Content: "before"}}}},
		{Kind: machine.TaskEnded, Task: machine.TaskID{Node: "a", Visit: 1, Attempt: 1}, Talk: &machine.TalkDelta{Add: []machine.Message{{Role: "assistant", ToolCalls: []machine.ToolCall{call}}}}},
		{Kind: machine.Advanced},
		{Kind: machine.TaskEnded, Task: machine.TaskID{Node: "b", Visit: 1, Attempt: 1}, Talk: &machine.TalkDelta{Add: []machine.Message{{Role: "tool", ToolCallID: "1", Content: "x"}}}},
		{Kind: machine.Advanced},
		{Kind: machine.TaskEnded, Task: machine.TaskID{Node: "a", Visit: 2, Attempt: 1}, Talk: &machine.TalkDelta{
			Drop: 1, Summary: &machine.Message{Role: "user", Content: "sum"}, Add: []machine.Message{{Role: "assistant", Content: "done"}},
		}},
		{Kind: machine.Advanced},
	}
	s, _ := throughSnapshots(t, plan, events)
	want := []machine.Message{
		{Role: "user", Content: "sum", Node: "a"},
		{Role: "assistant", ToolCalls: []machine.ToolCall{call}, Node: "a"},
		{Role: "tool", ToolCallID: "1", Content: "x", Node: "b"},
		{Role: "assistant", Content: "done", Node: "a"},
	}
	if diff := cmp.Diff(want, s.Conversation()); diff != "" || s.Status != machine.Completed {
		t.Errorf("%s:\n%s", s.Status, diff)
	}
}
