package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// What the last node of a way hears, and is told, of what was said on it.
func TestHeardOnTheWay(t *testing.T) {
	calls := machine.Message{Role: "assistant", Content: "calls", ToolCalls: []machine.ToolCall{{ID: "1", Name: "t"}}}
	result := machine.Message{Role: "tool", ToolCallID: "1", Content: "result"}
	answer := machine.Message{Role: "assistant", Content: "answer"}
	type turn struct {
		node  string
		visit int
		add   *machine.Message // nil: the node fails
	}
	const loop = `
tools: {t: {exec: {command: [x]}}}
nodes:
  a: {kind: llm, prompt: x, tools: [t]%s}
  t: {kind: tools}
  m: {kind: llm, prompt: x%s}
edges: [{from: a, to: t, when: visits.a < %d}, {from: a, to: m}, {from: t, to: a}, {from: m, to: END}]`
	const again = `
nodes:
  a: {kind: llm, prompt: x}
  m: {kind: llm, prompt: x}
edges: [{from: a, to: a, when: visits.a < 2}, {from: a, to: %s, condition: on_failure}, {from: a, to: m}, {from: m, to: END}]`
	called := []turn{{"a", 1, &calls}, {"t", 1, &result}}
	for _, test := range []struct {
		name, flow string
		turns      []turn
		want       string // messages, what ran since, the output before
	}{
		{"an isolated model hears the results of its calls", fmt.Sprintf(loop, ", conversation: isolated", "", 3), called, "[calls result] [] calls"},
		{
			"results are shared where the model is, whatever the graph says", "\nconversation: isolated" + fmt.Sprintf(loop, ", conversation: continuous", "", 3), called,
			"[calls result] [] calls",
		},
		{
			"a model that resets goes on after its calls", fmt.Sprintf(loop, ", conversation: reset", "", 2), append(called, turn{"a", 2, &answer}),
			"[calls result answer] [] ",
		},
		{"a model that fails is among what ran", fmt.Sprintf(again, "m"), []turn{{"a", 1, &answer}, {"a", 2, nil}}, "[answer] [a failed] "},
		{"a visit that fails leaves the output before", fmt.Sprintf(again, "a"), []turn{{"a", 1, &answer}, {"a", 2, nil}}, "[answer] [] answer"},
	} {
		plan := build(t, head+test.flow)
		s, got := plan.NewState(), ""
		apply := func(e machine.Event) {
			e.At = simEpoch
			cmds, err := plan.Apply(s, e)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cmds {
				if c.Kind == machine.RunTask {
					got = told(c.Work.Talk)
				}
			}
		}
		apply(machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run"}})
		for _, turn := range test.turns {
			e := ended(turn.node, turn.visit, 1, nil)
			if turn.add != nil {
				e.Output, e.Talk = turn.add.Content, &machine.TalkDelta{Add: []machine.Message{*turn.add}}
			} else {
				e.Failure = &machine.Failure{Kind: "failed", Message: "no"}
			}
			apply(e)
			apply(closes)
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// What a run began with was not said in it, and a model that says nothing has said
// nothing, unless its answer is from the cache.
func TestSaidInTheRun(t *testing.T) {
	plan := build(t, head+"\nnodes: {a: {kind: llm, prompt: x}, m: {kind: llm, prompt: x}}\nedges: [{from: a, to: m}, {from: m, to: END}]")
	for _, cached := range []bool{false, true} {
		before := []machine.Message{{Role: "user", Content: "before"}}
		silent, speaks := ended("a", 1, 1, "again"), ended("m", 1, 1, "answer")
		silent.Cached = cached
		speaks.Talk = &machine.TalkDelta{Add: []machine.Message{{Role: "assistant", Content: "answer"}}}
		s := plan.NewState()
		applyAll(t, plan, s, machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run", Talk: before}}, silent, closes, speaks, closes)
		got, want := told(&machine.Talk{Messages: s.Said()}), "[answer] [] "
		if cached {
			want = "[again answer] [] "
		}
		if got != want {
			t.Errorf("cached %v: said %q, want %q", cached, got, want)
		}
	}
}

// A join is told of each step on the ways to it once, also when there were more of
// them than a token remembers, and of the shorter way first or last.
func TestStepsAtJoin(t *testing.T) {
	for _, test := range []struct {
		before int // visits of a, with b between them, before the branches part
		edges  string
		ran    []string // after the fan-out, in this order
		steps  int
		last   string
	}{
		{1, "[{from: a, to: [x, m]}, {from: x, to: m}]", []string{"x"}, 2, "[a x]"},
		{1, "[{from: a, to: [m, x]}, {from: x, to: m}]", []string{"x"}, 2, "[a x]"},
		{1, "[{from: a, to: [x, y]}, {from: x, to: m}, {from: y, to: z}, {from: z, to: m}]", []string{"x", "y", "z"}, 4, "[a x y z]"},
		{12, "[{from: a, to: [x, y]}, {from: x, to: m}, {from: y, to: z}, {from: z, to: m}]", []string{"x", "y", "z"}, 26, "a x y z]"},
		{30, "[{from: a, to: [x, y]}, {from: x, to: m}, {from: y, to: z}, {from: z, to: m}]", []string{"x", "y", "z"}, 62, "a x y z]"},
		{30, "[{from: a, to: [m, x]}, {from: x, to: m}]", []string{"x"}, 60, "a x]"},
	} {
		edges := strings.Replace(test.edges, "[", fmt.Sprintf("[{from: a, to: b, when: visits.a < %d}, {from: b, to: a}, {from: m, to: END}, ", test.before), 1)
		others := ""
		for _, id := range test.ran {
			others += id + ": {kind: pass}, "
		}
		plan := build(t, head+"\nnodes: {a: {kind: pass}, b: {kind: pass}, "+others+"m: {kind: llm, prompt: x, join: {wait: all}}}\nedges: "+edges)
		s, talk := plan.NewState(), (*machine.Talk)(nil)
		apply := func(e machine.Event) {
			e.At = simEpoch
			cmds, err := plan.Apply(s, e)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cmds {
				if c.Kind == machine.RunTask && c.Task.Node == "m" {
					talk = c.Work.Talk
				}
			}
		}
		apply(machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run"}})
		for visit := range test.before {
			if visit > 0 {
				apply(ended("b", visit, 1, nil))
				apply(closes)
			}
			apply(ended("a", visit+1, 1, nil))
			apply(closes)
		}
		for _, id := range test.ran {
			apply(ended(id, 1, 1, nil))
			if id != "x" || !slices.Contains(test.ran, "y") {
				apply(closes)
			}
		}
		if talk == nil {
			t.Errorf("%s: the join was not reached", edges)
			continue
		}
		if got := fmt.Sprint(talk.Done); talk.Steps != test.steps || !strings.HasSuffix(got, test.last) {
			t.Errorf("%s: %d steps %s, want %d ending %s", edges, talk.Steps, got, test.steps, test.last)
		}
	}
}

// told are the messages that a node hears, what ran since another model spoke, and its
// output before.
func told(talk *machine.Talk) string {
	heard, ran := []string{}, []string{}
	for _, m := range talk.Messages {
		heard = append(heard, m.Content)
	}
	for _, r := range talk.Ran {
		if r.Failed {
			r.Node += " failed"
		}
		ran = append(ran, r.Node)
	}
	return fmt.Sprint(heard, " ", ran, " ", talk.Prior)
}
