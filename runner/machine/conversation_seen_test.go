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

// What `last` shows and what a model is told of where branches meet: what was said on
// one of them counts, the last in declaration order, and what ran before they parted
// is told once.
func TestThreadsMeet(t *testing.T) {
	const flow = `
state: {seen: {}}
nodes:
  a: {kind: llm, prompt: x}
  r: {kind: exec, command: [x]}
  %s
  j: {kind: set, set: {seen: last.text}, join: {wait: all}}
  m: {kind: llm, prompt: x}
edges:
  - {from: a, to: r}
  - {from: j, to: m}
  - {from: m, to: END}
  - %s`
	const two = "%s: {kind: exec, command: [x]}\n  %s: {kind: llm, prompt: x}"
	quick, slow := once(after(1, nil)), once(after(2, nil))
	both := "b: {kind: llm, prompt: x}\n  c: {kind: llm, prompt: x}"
	meet := "{from: r, to: [b, c]}\n  - {from: [b, c], to: j}"
	for name, test := range map[string]struct {
		nodes, edges string
		replies      replies
		seen, ran    string
		path         string
	}{
		"nothing was said on the last":  {fmt.Sprintf(two, "c", "b"), meet, nil, "! b#1.0", "r c j", "a r b c j m"},
		"nothing was said on the first": {fmt.Sprintf(two, "b", "c"), meet, nil, "! c#1.0", "r b j", "a r b c j m"},
		"the last in order was quicker": {both, meet, replies{"b": slow, "c": quick}, "! c#1.0", "j", "a r b c j m"},
		"the last in order was slower":  {both, meet, replies{"b": quick, "c": slow}, "! c#1.0", "j", "a r b c j m"},
		"the first in order came last": {
			both + "\n  p: {kind: pass}", "{from: r, to: [b, c]}\n  - {from: b, to: p}\n  - {from: [p, c], to: j}", nil,
			"! c#1.0", "p j", "a r b c p j m",
		},
		"nothing was said since": {"b: {kind: pass}\n  c: {kind: pass}", meet, nil, "! a#1.0", "r b c j", "a r b c j m"},
		"branches meet that met": {
			fmt.Sprintf(two, "q", "c") + "\n  p: {kind: pass}\n  b: {kind: pass}\n  i: {kind: pass, join: {wait: all}}",
			"{from: r, to: [q, p]}\n  - {from: p, to: [b, c]}\n  - {from: [b, c], to: i}\n  - {from: [q, i], to: j}", nil, "! c#1.0", "r q p b i j", "a r q p b c i j m",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var ran []string
			simCase{
				flow: fmt.Sprintf(flow, test.nodes, test.edges), replies: test.replies,
				path:  test.path,
				state: map[string]any{"seen": test.seen},
				told: func(c machine.Command) {
					if c.Task.Node == "m" {
						for _, r := range c.Work.Talk.Ran {
							ran = append(ran, r.Node)
						}
					}
				},
			}.run(t)
			if got := strings.Join(ran, " "); got != test.ran {
				t.Errorf("the model is told that %q ran, want %q", got, test.ran)
			}
		})
	}
}

// An isolated model whose calls are open is heard by who runs its tools, behind a join
// too, and by no other model.
func TestOpenCallsOfIsolated(t *testing.T) {
	for node, want := range map[string]int{
		"{kind: tools, join: {wait: all}}":                                              1,
		"{kind: llm, prompt: x, tools: [t], conversation: isolated, join: {wait: all}}": 0,
	} {
		plan := build(t, head+`
tools: {t: {exec: {command: [x]}}}
nodes:
  a: {kind: pass}
  x: {kind: exec, command: [x]}
  i: {kind: llm, prompt: x, tools: [t], conversation: isolated}
  o: `+node+`
edges: [{from: a, to: [x, i]}, {from: [x, i], to: o}, {from: o, to: END}]`)
		calls := ended("i", 1, 1, nil)
		calls.Talk = &machine.TalkDelta{Add: []machine.Message{{Role: "assistant", ToolCalls: []machine.ToolCall{{ID: "1", Name: "t"}}}}}
		s, heard := plan.NewState(), -1
		for _, e := range []machine.Event{{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run"}}, closes, ended("x", 1, 1, nil), calls, closes} {
			e.At = simEpoch
			cmds, err := plan.Apply(s, e)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cmds {
				if c.Kind == machine.RunTask && c.Task.Node == "o" {
					heard = len(c.Work.Talk.Messages)
				}
			}
		}
		if heard != want {
			t.Errorf("%s hears %d messages, want %d", node, heard, want)
		}
	}
}
