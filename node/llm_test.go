package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// The settings of a graph and its nodes decide which messages a model gets.
func TestConversation(t *testing.T) {
	const loop = `start: a
nodes: {a: {kind: llm, prompt: pa%s}, b: {kind: llm, prompt: pb%s}}
edges: [{from: a, to: b}, {from: b, to: a, when: "visits.b < 2"}, {from: b, to: END}]`
	const fan = `start: a
nodes: {a: {kind: llm, prompt: pa}, b: {kind: llm, prompt: pb%s}, c: {kind: llm, prompt: pc}, d: {kind: llm, prompt: pd}, j: {kind: llm, prompt: pj, join: {wait: all}%s}}
edges: [{from: a, to: [b, c]}, {from: b, to: d}, {from: [c, d], to: j}, {from: j, to: END}]`
	for name, c := range map[string]struct {
		flow string
		want []string
	}{
		"one list runs through all nodes": {
			fillFlow(loop, "", "") + "\nfeedback_on_revisit: false",
			[]string{
				"u:pa",
				"u:pa | a:<pa> | u:MARKER | u:pb",
				"u:pa | a:<pa> | u:MARKER | u:pb | a:<pb> | u:MARKER | u:pa",
				"u:pa | a:<pa> | u:MARKER | u:pb | a:<pb> | u:MARKER | u:pa | a:<pa> | u:MARKER | u:pb",
			},
		},
		"isolated neither sees nor enters the list": {
			fillFlow(loop, "", ", conversation: isolated") + "\nfeedback_on_revisit: false",
			[]string{"u:pa", "u:pb", "u:pa | a:<pa> | u:pa", "u:pb"},
		},
		"isolated for the whole graph": {
			fillFlow(loop, "", "") + "\nfeedback_on_revisit: false\nconversation: isolated",
			[]string{"u:pa", "u:pb", "u:pa", "u:pb"},
		},
		"reset clears the list": {
			fillFlow(loop, "", ", conversation: reset") + "\nfeedback_on_revisit: false",
			[]string{"u:pa", "u:pb", "u:pb | a:<pb> | u:MARKER | u:pa", "u:pb"},
		},
		"own": {
			fillFlow(loop, ", conversation: {see: own}", "") + "\nfeedback_on_revisit: false",
			[]string{
				"u:pa",
				"u:pa | a:<pa> | u:MARKER | u:pb",
				"u:pa | a:<pa> | u:pa",
				"u:pa | a:<pa> | u:MARKER | u:pb | a:<pb> | u:pa | a:<pa> | u:MARKER | u:pb",
			},
		},
		"branches go on from where they parted and meet in declaration order": {
			fillFlow(fan, "", ""),
			[]string{
				"u:pa",
				"u:pa | a:<pa> | u:MARKER | u:pb",
				"u:pa | a:<pa> | u:MARKER | u:pc",
				"u:pa | a:<pa> | u:MARKER | u:pb | a:<pb> | u:MARKER | u:pd",
				"u:pa | a:<pa> | u:MARKER | u:pb | a:<pb> | u:MARKER | u:pd | a:<pd> | u:MARKER | u:pc | a:<pc> | u:MARKER | u:pj",
			},
		},
		"branch": {
			fillFlow(fan, ", conversation: {see: branch}", ", conversation: {see: branch}"),
			[]string{
				"u:pa",
				"u:pb",
				"u:pa | a:<pa> | u:MARKER | u:pc",
				"u:pa | a:<pa> | u:pb | a:<pb> | u:MARKER | u:pd",
				"u:pa | a:<pa> | u:pb | a:<pb> | u:MARKER | u:pd | a:<pd> | u:MARKER | u:pc | a:<pc> | u:MARKER | u:pj",
			},
		},
		"reset of a node that asks no model": {
			`start: a
nodes: {a: {kind: llm, prompt: pa}, r: {kind: pass, conversation: reset}, b: {kind: llm, prompt: pb}}
edges: [{from: a, to: r}, {from: r, to: b}, {from: b, to: END}]`,
			[]string{"u:pa", "u:pb"},
		},
		"messages are the whole list": {
			`start: a
state: {log: {type: array, reducer: messages, default: [{role: user, content: x}]}}
nodes: {a: {kind: llm, prompt: pa, writes: {log: "{'role': 'assistant', 'content': output}"}}, b: {kind: llm, prompt: no, messages: "concat(log, [{'role': 'user', 'content': 'y'}])"}}
edges: [{from: a, to: b}, {from: b, to: END}]`,
			[]string{"u:pa", "u:x | a:<pa> | u:y"},
		},
		"no prompt": {
			`start: a
nodes: {a: {kind: llm, prompt: pa}, b: {kind: llm}}
edges: [{from: a, to: b}, {from: b, to: END}]`,
			[]string{"u:pa", "u:pa | a:<pa> | u:MARKER"},
		},
		"each": {
			`start: a
limits: {max_concurrency: 1}
nodes: {a: {kind: llm, each: "['x', 'y']", prompt: "p{{ item }}"}, b: {kind: llm, prompt: pb}}
edges: [{from: a, to: b}, {from: b, to: END}]`,
			[]string{"u:px", "u:py", "u:px | a:<px> | u:py | a:<py> | u:MARKER | u:pb"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			chat := newChat(t, func(asked string) string { return "<" + asked + ">" })
			if name == "no prompt" {
				chat.reply = func(asked string) string { return "<" + asked[:2] + ">" }
			}
			result := runFlow(t, chat, c.flow, runner.Options{MaxConcurrency: 1})
			if result.Status != machine.Completed {
				t.Fatalf("%s: %v", result.Status, result.Error)
			}
			got := chat.formatRequests()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func fillFlow(flow string, parts ...string) string {
	for _, part := range parts {
		flow = strings.Replace(flow, "%s", part, 1)
	}
	return flow
}

// A node whose answer requested tools continues with their results: without its prompt, and with
// only its own results if it is isolated.
func TestContinuation(t *testing.T) {
	for mode, want := range map[string][]string{
		"continuous": {
			"u:pz", "u:pz | a:z | u:MARKER | u:pa", "u:pz | a:z | u:MARKER | u:pa | a:1 calls | t:3",
			"u:pz | a:z | u:MARKER | u:pa | a:1 calls | t:3 | a:it is 3 | u:MARKER | u:pb",
		},
		"isolated": {"u:pz", "u:pa", "u:pa | a:1 calls | t:3", "u:pz | a:z | u:MARKER | u:pb"},
		"reset":    {"u:pz", "u:pa", "u:pa | a:1 calls | t:3", "u:pa | a:1 calls | t:3 | a:it is 3 | u:MARKER | u:pb"},
	} {
		t.Run(mode, func(t *testing.T) {
			chat := newChat(t, inOrder("z", `call add {"x":1}`, "it is 3", "b"))
			result := runFlow(t, chat, `start: z
state: {said: {}, got: {}}
tools: {add: {exec: {command: [echo, "3"], parse: text}, description: adds, parameters: {type: object}}}
nodes:
  z: {kind: llm, prompt: pz}
  a: {kind: llm, prompt: pa, tools: [add], conversation: `+mode+`}
  run: {kind: tools, tools: [add]}
  keep: {kind: set, set: {said: last.text, got: last.tool_result}}
  b: {kind: llm, prompt: pb}
edges:
  - {from: z, to: a}
  - {from: a, to: run, when: "len(output.tool_calls) > 0"}
  - {from: run, to: a}
  - {from: a, to: keep}
  - {from: keep, to: b}
  - {from: b, to: END}`, runner.Options{})
			if result.Status != machine.Completed {
				t.Fatalf("%s: %v", result.Status, result.Error)
			}
			if diff := cmp.Diff(want, chat.formatRequests()); diff != "" {
				t.Error(diff)
			}
			if said, got := result.State["said"], result.State["got"]; said != "it is 3" || got != "3" {
				t.Errorf("last.text was %v, last.tool_result %v", said, got)
			}
			if n := len(chat.requests[1].Tools); n != 1 {
				t.Errorf("%d tools were offered", n)
			}
		})
	}
}

// A subgraph has a separate conversation unless its node shares the outer one. Then it continues
// the outer conversation, which keeps the messages of the subgraph.
func TestConversationOfSubgraph(t *testing.T) {
	for mode, want := range map[string][]string{
		"":                           {"u:pa", "u:child", "u:pa | a:<pa> | u:MARKER | u:pb"},
		", conversation: continuous": {"u:pa", "u:pa | a:<pa> | u:MARKER | u:child", "u:pa | a:<pa> | u:MARKER | u:child | a:<child> | u:MARKER | u:pb"},
	} {
		chat := newChat(t, func(asked string) string { return "<" + asked + ">" })
		chat.dir = t.TempDir()
		child := "graphrun: v1\nname: c\nstart: a\nmodels: {default: local/m}\nproviders: {local: {type: openai, base_url: \"" + chat.url + "\"}}\n" +
			"nodes: {a: {kind: llm, prompt: child}}\nedges: [{from: a, to: END}]\n"
		if err := os.WriteFile(filepath.Join(chat.dir, "child.yaml"), []byte(child), 0o600); err != nil {
			t.Fatal(err)
		}
		result := runFlow(t, chat, `start: a
nodes: {a: {kind: llm, prompt: pa}, g: {kind: graph, graph: child.yaml`+mode+`}, b: {kind: llm, prompt: pb}}
edges: [{from: a, to: g}, {from: g, to: b}, {from: b, to: END}]`, runner.Options{})
		if result.Status != machine.Completed {
			t.Fatalf("%s: %v", result.Status, result.Error)
		}
		if diff := cmp.Diff(want, chat.formatRequests()); diff != "" {
			t.Errorf("%q:\n%s", mode, diff)
		}
	}
}

// At a join, last is the answer of the branch that is declared last, whichever was faster.
func TestLastAtJoin(t *testing.T) {
	for _, slow := range []string{"pb", "pc"} {
		answered := make(chan string, 1)
		chat := newChat(t, func(asked string) string { return "<" + asked + ">" })
		chat.wait = func(asked string) {
			if asked == slow {
				<-answered // the other goes first
			} else if asked != "pa" {
				answered <- asked
			}
		}
		result := runFlow(t, chat, `start: a
state: {said: {}}
nodes:
  a: {kind: llm, prompt: pa}
  b: {kind: llm, prompt: pb}
  c: {kind: llm, prompt: pc}
  e: {kind: pass}
  d: {kind: set, set: {said: last.text}, join: {wait: all}}
edges: [{from: a, to: [b, c, e]}, {from: [b, c, e], to: d}, {from: d, to: END}]`, runner.Options{})
		if result.State["said"] != "<pc>" {
			t.Errorf("with a slow %s it is %v", slow, result.State["said"])
		}
	}
}
