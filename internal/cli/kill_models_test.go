//go:build unix

package cli

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hangingProvider answers with texts, one after the other. The call with the given
// number (from 1) gets no answer, and the next call gets its text.
func hangingProvider(dir string, hang int, texts ...string) *fakeProvider {
	p := &fakeProvider{ready: func() {
		if f, err := os.OpenFile(filepath.Join(dir, "ready"), os.O_WRONLY, 0); err == nil {
			fmt.Fprintln(f, "on")
			_ = f.Close()
		}
	}}
	calls := 0
	p.answers = func(string) (map[string]any, bool) {
		if calls++; calls == hang {
			return nil, true
		}
		if len(texts) == 0 {
			return map[string]any{"content": "too many calls"}, false
		}
		next := texts[0]
		texts = texts[1:]
		return map[string]any{"content": next}, false
	}
	return p
}

// Killed during a model call: finished calls are not repeated, not even those of the same
// attempt, and each call is counted once.
func TestKilledDuringModelCall(t *testing.T) {
	const head = "graphrun: v1\nname: m\nstart: a\nmodels: {default: local/m}\nstate: {n: {}}\nproviders: {local: {type: openai, base_url: \"%s/v1\"}}\n"
	for name, c := range map[string]struct {
		flow  string
		hang  int
		texts []string
		asked int // requests, the one without an answer among them
		path  string
	}{
		"of the second node": {
			"nodes: {a: {kind: llm, prompt: pa}, b: {kind: llm, prompt: pb, writes: [n]}}\nedges: [{from: a, to: b}, {from: b, to: END}]\n",
			2,
			[]string{"one", "two"},
			3,
			"a b",
		},
		"that asks again": {
			"nodes: {a: {kind: llm, prompt: pa, output: {type: integer}, writes: [n]}}\nedges: [{from: a, to: END}]\n",
			2,
			[]string{"one", "2"},
			3,
			"a",
		},
		"of a router that is asked again": {
			"nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}}\nedges: [{from: a, to: b, condition: llm_decide}, {from: a, to: c, condition: llm_decide}, {from: [b, c], to: END}]\n",
			2,
			[]string{"mars", `{"target": "c", "reasoning": "r"}`},
			3,
			"a c",
		},
		"after a router": {
			"nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: llm, prompt: pc}}\nedges: [{from: a, to: b, condition: llm_decide}, {from: a, to: c, condition: llm_decide}, {from: [b, c], to: END}]\n",
			2,
			[]string{`{"target": "c", "reasoning": "r"}`, "end"},
			3,
			"a c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := hangingProvider(dir, c.hang, c.texts...)
			server := httptest.NewServer(p)
			defer server.Close()
			result := killed(t, dir, fmt.Sprintf(head, server.URL)+c.flow)
			p.mu.Lock()
			defer p.mu.Unlock()
			usage, _ := result["usage"].(map[string]any)
			if len(p.asked) != c.asked || usage["llm_calls"] != float64(c.asked-1) || usage["input_tokens"] != float64(10*(c.asked-1)) {
				t.Errorf("requests %q, usage %v", p.asked, usage)
			}
			if got := strings.Trim(fmt.Sprint(result["path"]), "[]"); got != c.path || result["quality"] != "clean" {
				t.Errorf("path %s, quality %v", got, result["quality"])
			}
		})
	}
}

// Killed during a call of a subgraph: its calls are counted in the run around
// it, once.
func TestKilledDuringModelCallOfSubgraph(t *testing.T) {
	dir := t.TempDir()
	p := hangingProvider(dir, 2, "one", "two")
	server := httptest.NewServer(p)
	defer server.Close()
	write(t, filepath.Join(dir, "child.yaml"), "graphrun: v1\nname: c\nstart: a\nmodels: {default: local/m}\nproviders: {local: {type: openai, base_url: \""+server.URL+"/v1\"}}\n"+
		"nodes: {a: {kind: llm, prompt: pa}, b: {kind: llm, prompt: pb}}\nedges: [{from: a, to: b}, {from: b, to: END}]\n")
	result := killed(t, dir, "graphrun: v1\nname: m\nstart: g\nnodes: {g: {kind: graph, graph: child.yaml}}\nedges: [{from: g, to: END}]\n")
	p.mu.Lock()
	defer p.mu.Unlock()
	usage, _ := result["usage"].(map[string]any)
	if got := fmt.Sprint(len(p.asked), usage["llm_calls"]); got != "3 2" {
		t.Errorf("requests and calls: %s (%q, %v)", got, p.asked, usage)
	}
}
