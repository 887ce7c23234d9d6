package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConversation checks that the API returns the messages of models by node and element, also
// of subgraphs, with secrets masked.
func TestConversation(t *testing.T) {
	s := newTested(t, nil)
	for name, text := range map[string]string{
		"talk.yaml": `graphrun: v1
name: talk
start: each
state: {key: {type: string, secret: true}, names: {type: array, default: [a, b]}}
models: {default: scripted/script.yaml}
limits: {node_timeout: 10s, max_steps: 20}
conversation: isolated
nodes:
  each: {kind: llm, each: names, prompt: "Is {{ item }}?"}
  inner: {kind: graph, graph: "#inner"}
edges: [{from: each, to: inner}, {from: inner, to: END}]
graphs:
  inner:
    start: ask
    models: {default: scripted/script.yaml}
    nodes: {ask: {kind: llm, prompt: "Deeper?"}}
    edges: [{from: ask, to: END}]
`,
		"script.yaml": "responses:\n  - {node: each, content: It is}\n  - {node: each, content: It is a very secret key}\n  - {node: inner/ask, content: Deep}\n",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.call(201, "POST", "/runs", `{"flow":"talk.yaml","run_id":"t","input":{"key":"a very secret key"}}`)
	s.until("t", "completed")
	said := func(path string) string {
		var lines []string
		for _, one := range s.call(200, "GET", path, "")["conversation"].([]any) {
			one := one.(map[string]any)
			line := one["node"].(string) + " " + one["place"].(string)
			for _, m := range one["messages"].([]any) {
				m := m.(map[string]any)
				content, _ := m["content"].(string)
				line += " " + m["role"].(string) + ": " + content
			}
			lines = append(lines, line)
		}
		text, _ := json.Marshal(lines)
		return string(text)
	}
	all := said("/runs/t/conversation")
	for _, want := range []string{"each each[0] ", "each each[1] ", "user: Is b?", "assistant: It is", "inner/ask inner/ask ", "user: Deeper? assistant: Deep"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, all)
		}
	}
	if strings.Contains(all, "secret key") {
		t.Errorf("a secret is told: %s", all)
	}
	if got := said("/runs/t/conversation?node=inner/ask"); strings.Contains(got, "each[") || !strings.Contains(got, "Deeper") {
		t.Errorf("of a node: %s", got)
	}
}
