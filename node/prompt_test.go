package node_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
)

// The system prompt of the shared list is persona and goal, the same for all nodes; the nodes'
// instructions are in the list. With a separate list the system prompt has all of it.
func TestSystemPrompt(t *testing.T) {
	chat := newChat(t, inOrder("hello", `{"n": 1}`))
	flow := `persona: You are terse.
goal: {description: sell shoes, success_criteria: [a sale], constraints: [no lies]}
start: a
nodes:
  a: {kind: llm, prompt: pa}
  b: {kind: llm, prompt: pb, description: count, instructions: "Count for {{ nodes.a.output }}.", output: {type: object, properties: {n: {type: integer}}}}
edges: [{from: a, to: b}, {from: b, to: END}]`
	if result := runFlow(t, chat, flow, runner.Options{}); result.Status != machine.Completed {
		t.Fatal(result.Error)
	}
	const goal = "You are terse.\n\nGoal: sell shoes\nIt is reached when:\n- a sale\nConstraints:\n- no lies"
	if got := chat.requests[0].system(); got != goal {
		t.Errorf("a: %s", got)
	}
	const focus = "Count for hello.\n\nAnswer with one JSON value that fits this JSON Schema, and with nothing else:\n" +
		`{"properties":{"n":{"type":"integer"}},"type":"object"}`
	if got := chat.requests[1].system(); got != goal {
		t.Errorf("b: %s", got)
	}
	if got, want := chat.requests[1].formatMessages(), "u:pa | a:hello | u:MARKER | u:"+strings.ReplaceAll(focus, "\n\n", " | u:")+" | u:pb"; got != want {
		t.Errorf("b: %s", got)
	}
	chat = newChat(t, inOrder("hello", `{"n": 1}`))
	runFlow(t, chat, "conversation: isolated\n"+flow, runner.Options{})
	if got, want := chat.requests[1].system(), goal+"\n\nProgress: 1 step done: a\n\n"+focus; got != want {
		t.Errorf("b, isolated: %s", got)
	}

	chat = newChat(t, inOrder("hello", `{"n": 1}`))
	runFlow(t, chat, flow, runner.Options{Goal: "another"})
	if got := chat.requests[0].system(); got != "You are terse.\n\nGoal: another" {
		t.Errorf("with a goal of the caller's: %s", got)
	}
}

// No message before the last of a request ever changes in the next request: after tool calls,
// other nodes, revisits and other instructions.
func TestAppendOnly(t *testing.T) {
	for name, c := range map[string]struct {
		mode    string
		replies []string
	}{
		"shared":   {"continuous", []string{"first", "call look {}", "second", "third", "call look {}", "fourth"}},
		"isolated": {"isolated", []string{"first", "call look {}", "second", "third", "call look {}", "fourth"}},
	} {
		t.Run(name, func(t *testing.T) {
			chat := newChat(t, inOrder(c.replies...))
			result := runFlow(t, chat, "conversation: "+c.mode+`
persona: You are terse.
goal: sell shoes
start: a
tools: {look: {exec: {command: [echo, shoes]}, description: looks}}
nodes:
  a: {kind: llm, prompt: pa, instructions: "Step {{ step }}.", output: {type: string}}
  b: {kind: llm, prompt: pb, tools: [look], instructions: Look.}
  c: {kind: tools}
edges: [{from: a, to: b}, {from: b, to: c, when: "len(output.tool_calls) > 0"}, {from: b, to: a, when: "visits.a < 2"}, {from: b, to: END}, {from: c, to: b}]`, runner.Options{})
			if result.Status != machine.Completed || len(chat.requests) != 6 {
				t.Fatalf("%v after %d requests", result.Error, len(chat.requests))
			}
			for i := 1; i < len(chat.requests); i++ {
				before, now := &chat.requests[i-1], &chat.requests[i]
				if c.mode == "isolated" && len(now.Messages) <= len(before.Messages) {
					continue // a separate list begins
				}
				if len(now.Messages) <= len(before.Messages) {
					t.Fatalf("request %d is no longer than the one before", i)
				}
				if diff := cmp.Diff(before.Messages, now.Messages[:len(before.Messages)]); diff != "" {
					t.Errorf("request %d changes what was said: %s", i, diff)
				}
			}
		})
	}
}

// The marker lists the nodes since the last answer, with secrets masked and long outputs cut.
func TestMarker(t *testing.T) {
	t.Setenv("MARKER_TOKEN", "s3cret-token")
	chat := newChat(t, inOrder("hello", "there"))
	result := runFlow(t, chat, `start: a
secrets: {token: {env: MARKER_TOKEN}}
state: {n: {}}
nodes:
  a: {kind: llm, prompt: pa}
  look: {kind: exec, command: [sh, -c, "echo $TOKEN; printf '%0999d' 7"], env: {TOKEN: "{{ secrets.token }}"}}
  bad: {kind: exec, command: [sh, -c, "exit 3"]}
  b: {kind: llm, prompt: pb, description: write it down}
edges: [{from: a, to: look}, {from: look, to: bad}, {from: bad, to: b, condition: on_failure}, {from: b, to: END}]`, runner.Options{})
	if result.Status != machine.Completed {
		t.Fatal(result.Error)
	}
	text, _ := chat.requests[1].Messages[len(chat.requests[1].Messages)-2].Content.(string)
	for _, want := range []string{
		`moves on to step "b"`, `- look: "***`, "000…", "- bad failed: exit_status: ", "Accomplished: 3 steps done: a, look, bad.", "Next: b: write it down",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the marker lacks %q:\n%s", want, text)
		}
	}
	if len(text) > 1000 || strings.Contains(text, "s3cret") {
		t.Errorf("the marker has %d bytes:\n%s", len(text), text)
	}
}

// From the second visit on, a prompt describes the previous visit, unless feedback is off.
func TestFeedback(t *testing.T) {
	for name, c := range map[string]struct {
		graph, node string
		want        bool
	}{
		"by default":          {"", "", true},
		"not for the graph":   {"feedback_on_revisit: false\n", "", false},
		"not for the node":    {"", ", feedback: false", false},
		"but for the node":    {"feedback_on_revisit: false\n", ", feedback: true", true},
		"isolated nodes, too": {"conversation: isolated\n", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			chat := newChat(t, inOrder("first draft", "second draft"))
			runFlow(t, chat, c.graph+`start: a
nodes: {a: {kind: llm, prompt: write`+c.node+`}}
edges: [{from: a, to: a, when: visits.a < 2}, {from: a, to: END}]`, runner.Options{})
			got := chat.requests[1].last()
			if told := strings.Contains(got, "visit 2") && strings.Contains(got, "first draft"); told != c.want || !strings.HasPrefix(got, "write") {
				t.Errorf("the second prompt is %q", got)
			}
			if first := chat.requests[0].last(); first != "write" {
				t.Errorf("the first prompt is %q", first)
			}
		})
	}
}

// A key with `once` returns to its default after a model node that read it, unless that node
// failed.
func TestOnce(t *testing.T) {
	chat := newChat(t, inOrder("a", "b", "c"))
	result := runFlow(t, chat, `start: s
state: {hint: {type: string, once: true, default: none}, other: {type: string, once: true, default: dull}}
nodes:
  s: {kind: set, set: {hint: "'hurry'", other: "'shiny'"}}
  a: {kind: llm, prompt: "a {{ hint }}"}
  b: {kind: llm, prompt: "b {{ hint }}", writes: {hint: "'again'"}}
  c: {kind: llm, prompt: "c {{ hint }}"}
edges: [{from: s, to: a}, {from: a, to: b}, {from: b, to: c}, {from: c, to: END}]`, runner.Options{})
	for i, want := range []string{"a hurry", "b none", "c again"} {
		if got := chat.requests[i].last(); got != want {
			t.Errorf("prompt %d is %q, want %q", i, got, want)
		}
	}
	if hint, other := result.State["hint"], result.State["other"]; hint != "none" || other != "shiny" {
		t.Errorf("at the end hint is %v, other %v", hint, other)
	}
}

// The provider gets the parameters. The caller of a run can set them for one node or for all.
func TestParams(t *testing.T) {
	chat := newChat(t, func(string) string { return "ok" })
	result := runFlow(t, chat, `start: a
nodes:
  a: {kind: llm, prompt: pa, temperature: 0.5, params: {extra: 1}}
  b: {kind: llm, prompt: pb, model: local/other}
edges: [{from: a, to: b}, {from: b, to: END}]`, runner.Options{ModelParams: []handler.ModelParam{
		{Node: "a", Key: "temperature", Value: 0.25}, {Key: "temperature", Value: 1}, {Key: "extra", Value: "x"},
	}})
	if result.Status != machine.Completed {
		t.Fatal(result.Error)
	}
	for i, want := range []struct {
		model       string
		temperature float64
	}{{"m", 0.25}, {"other", 1}} {
		got := chat.requests[i]
		if got.Model != want.model || got.Temperature == nil || *got.Temperature != want.temperature || got.Extra != "x" {
			t.Errorf("request %d: %+v", i, got)
		}
	}
}
