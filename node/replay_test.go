package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// canaries are secrets that may appear only in requests.
const canaryKey, canaryToken = "sk-canary-4711-key", "canary-0815-token"

// playOrRecord runs a flow in a folder with a recording, and returns its result and everything
// that it showed and stored.
func playOrRecord(t *testing.T, dir string, tape *cassette.Cassette) (*runner.Result, []byte) {
	t.Helper()
	opts := node.Options{Cassette: tape}
	kept := &store.Memory{}
	r, err := runner.New(runner.Config{Kinds: node.Kinds(opts), Decider: node.NewDecider(opts), Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "flow.yaml")
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	g, found := spec.Parse(name, src, spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatal(found)
	}
	var shown bytes.Buffer
	result, err := r.Run(context.Background(), g, runner.Options{RunID: "r", Sink: runner.NewJSONSink(&shown)})
	if err != nil {
		t.Fatal(err)
	}
	events, err := kept.Events("r", 0, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		text, err := json.Marshal(&events[i])
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(text)
	}
	return result, shown.Bytes()
}

// A recorded run with branches, tools, decisions and repeated questions replays offline, the same
// each time. None of its secrets is shown, stored or recorded.
func TestRecordedRunReplays(t *testing.T) {
	t.Setenv("CANARY_KEY", canaryKey)
	t.Setenv("CANARY_TOKEN", canaryToken)
	var keys int
	chat := newChat(t, func(asked string) string {
		switch {
		case strings.HasPrefix(asked, "The step"):
			return `{"target": "b", "reasoning": "` + canaryToken + `"}`
		case strings.HasPrefix(asked, "tool"):
			return `call look {"what": "x"}`
		case strings.HasPrefix(asked, "number"):
			return "seven"
		case strings.HasPrefix(asked, "Your answer does not fit"):
			return "7"
		}
		return "<" + asked + " " + canaryToken + ">"
	})
	chat.header = func(authorization string) {
		if authorization == "Bearer "+canaryKey {
			keys++
		}
	}
	dir := t.TempDir()
	flow := `graphrun: v1
name: taped
start: a
goal: win
secrets: {key: {env: CANARY_KEY}, token: {env: CANARY_TOKEN}}
models: {default: local/m}
providers: {local: {type: openai, base_url: "` + chat.url + `", api_key: "{{ secrets.key }}"}}
tools: {look: {exec: {command: [sh, -c, "cat; echo $TOKEN"], env: {TOKEN: "{{ secrets.token }}"}, parse: text}, description: looks, parameters: {type: object}}}
state: {n: {}, said: {type: array, reducer: append}}
nodes:
  a: {kind: llm, prompt: number, output: {type: integer}, writes: [n]}
  b: {kind: llm, prompt: b, writes: [said]}
  c: {kind: llm, prompt: tool, tools: [look], conversation: isolated}
  t: {kind: tools, tools: [look]}
  d: {kind: llm, prompt: d, join: {wait: all}, writes: [said]}
  x: {kind: fail, message: no}
edges:
  - {from: a, to: b, condition: llm_decide}
  - {from: a, to: x, condition: llm_decide}
  - {from: b, to: [c, d]}
  - {from: c, to: t, when: visits.c < 2}
  - {from: t, to: c}
  - {from: c, to: d}
  - {from: d, to: END}
`
	if err := os.WriteFile(filepath.Join(dir, "flow.yaml"), []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	tape := cassette.New()
	first, shown := playOrRecord(t, dir, tape)
	if first.Status != machine.Completed || keys == 0 {
		t.Fatalf("%s: %v; the key was sent %d times", first.Status, first.Error, keys)
	}
	text, err := tape.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{canaryKey, canaryToken} {
		for where, all := range map[string][]byte{"the recording": text, "events": shown} {
			if i := bytes.Index(all, []byte(secret)); i >= 0 {
				t.Errorf("%s is in %s: …%s", secret, where, all[max(0, i-200):i+len(secret)])
			}
		}
	}
	asked := len(chat.requests)
	times := 100
	if testing.Short() {
		times = 5
	}
	for range times {
		again, err := cassette.Parse("tape.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		result, _ := playOrRecord(t, dir, again)
		if got, want := canonicalResult(t, result), canonicalResult(t, first); !bytes.Equal(got, want) {
			t.Fatalf("the replay differs:\n%s\n%s", got, want)
		}
	}
	if len(chat.requests) != asked {
		t.Errorf("replays asked %d times", len(chat.requests)-asked)
	}
}

// canonicalResult returns a result without the parts that depend on time.
func canonicalResult(t *testing.T, r *runner.Result) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"path": r.Path, "state": r.State, "output": r.Output, "status": r.Status, "usage": r.Usage, "error": r.Error})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
