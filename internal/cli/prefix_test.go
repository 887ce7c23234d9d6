package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/graphrun/graphrun/model/modeltest"
)

const longLoop = `graphrun: v1
name: long
start: a
persona: PERSONA
goal: {description: Find it.}
limits: {timeout: 1m}
providers: {there: {PROVIDER, base_url: "{{ run.input.url }}"}}
models: {default: there/m}
state: {url: {type: string, required: true}, answer: {type: string}}
tools: {look: {exec: {command: [cat], parse: json}, parameters: {type: object}}}
nodes:
  a: {kind: agent, prompt: "Look.", instructions: "Look well.", tools: [look], loop: {max_turns: 30, stuck_after: 30}}
  b: {kind: agent, prompt: "Look once more.", tools: [look], loop: {max_turns: 30, stuck_after: 30}, writes: [answer]}
edges: [{from: a, to: b}, {from: b, to: END}]
`

// prefixPeer answers with calls of a tool, each with its own thought, and checks
// that each request begins with the previous request.
type prefixPeer struct {
	mu       sync.Mutex
	answer   func(turn int, calls bool) string
	list     string // the key of the messages
	before   []json.RawMessage
	fixed    string
	turn     int
	problems []string
	cached   int // requests that ask to be cached
}

func (p *prefixPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, _ := io.ReadAll(r.Body)
	var body map[string]json.RawMessage
	var list []json.RawMessage
	if json.Unmarshal(text, &body) != nil || json.Unmarshal(body[p.list], &list) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	for i, was := range p.before {
		if i >= len(list) || !bytes.Equal(was, list[i]) {
			p.problems = append(p.problems, fmt.Sprintf("request %d: message %d was %s", p.turn+1, i, was))
			break
		}
	}
	if body["cache_control"] != nil {
		p.cached++
	}
	fixed := string(body["system"]) + string(body["instructions"]) + string(body["tools"])
	if p.turn++; p.turn > 1 && fixed != p.fixed {
		p.problems = append(p.problems, fmt.Sprintf("request %d: before the messages stands %s", p.turn, fixed))
	}
	p.before, p.fixed = list, fixed
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, p.answer(p.turn, p.turn%11 != 0))
}

// wireAnswers are the answers of a peer on each wire, by turn: a thought, and a call
// of the tool or an answer.
type wireAnswers struct {
	declared, list string
	answer         func(n int, calls bool) string
}

func wires() map[string]wireAnswers {
	const usage = `"usage": {"input_tokens": 5, "output_tokens": 5, "prompt_tokens": 5, "completion_tokens": 5}`
	return map[string]wireAnswers{
		"chat": {"type: openai", "messages", func(n int, calls bool) string {
			said := `"content": "found"`
			if calls {
				said = fmt.Sprintf(`"content": null, "tool_calls": [{"id": "c%d", "type": "function", "function": {"name": "look", "arguments": "{\"n\": %d}"}}]`, n, n)
			}
			return fmt.Sprintf(`{"choices": [{"index": 0, "message": {"role": "assistant", "reasoning_content": "thought %d", %s}, "finish_reason": "stop"}], %s}`, n, said, usage)
		}},
		"responses": {"type: openai, api: responses", "input", func(n int, calls bool) string {
			said := fmt.Sprintf(`{"type": "message", "id": "msg_%d", "role": "assistant", "content": [{"type": "output_text", "text": "found"}]}`, n)
			if calls {
				said = fmt.Sprintf(`{"type": "function_call", "id": "fc_%d", "call_id": "c%d", "name": "look", "arguments": "{\"n\": %d}"}`, n, n, n)
			}
			return fmt.Sprintf(`{"status": "completed", "output": [{"type": "reasoning", "id": "rs_%d", "summary": [], "encrypted_content": "thought %d"}, %s], %s}`, n, n, said, usage)
		}},
		"anthropic": {"type: anthropic", "messages", func(n int, calls bool) string {
			said, stop := `{"type": "text", "text": "found"}`, "end_turn"
			if calls {
				said, stop = fmt.Sprintf(`{"type": "tool_use", "id": "c%d", "name": "look", "input": {"n": %d}}`, n, n), "tool_use"
			}
			return fmt.Sprintf(`{"type": "message", "role": "assistant", "content": [{"type": "thinking", "thinking": "thought %d", "signature": "sig%d"}, %s], "stop_reason": %q, %s}`, n, n, said, stop, usage)
		}},
	}
}

// Twenty turns of tools over two nodes: on each wire every request begins with the
// previous one, thoughts included, so that the caches of providers stay valid.
func TestRequestsGrowAtTheirEnd(t *testing.T) {
	for name, wire := range wires() {
		peer := &prefixPeer{answer: wire.answer, list: wire.list}
		url := modeltest.ServeHandler(t, peer)
		t.Chdir(t.TempDir())
		flow := strings.NewReplacer("PROVIDER", wire.declared, "PERSONA", strings.Repeat("You look well. ", 400)).Replace(longLoop)
		if err := os.WriteFile("flow.yaml", []byte(flow), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := Main(context.Background(), Program{
			Args:  []string{"run", "flow.yaml", "-i", "url=" + url, "--store", "memory"},
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		})
		if code != 0 || peer.turn != 22 || len(peer.problems) > 0 {
			t.Errorf("%s: exit code %d, %d requests\n%s\n%s", name, code, peer.turn, strings.Join(peer.problems, "\n"), &stderr)
		}
		last := fmt.Sprintf("%s", peer.before)
		for n := 1; n < 22; n++ {
			if !strings.Contains(last, fmt.Sprintf(`thought %d"`, n)) {
				t.Errorf("%s: thought %d is gone", name, n)
			}
		}
		if asks := peer.cached == 22; asks != (name == "anthropic") {
			t.Errorf("%s: %d requests ask to be cached", name, peer.cached)
		}
	}
}
