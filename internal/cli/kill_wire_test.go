//go:build unix

package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hangingPeer is a peer one of whose turns gets no answer the first time.
type hangingPeer struct {
	prefixPeer
	dir    string
	hangs  int
	asked  int
	missed bool
}

func (p *hangingPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked++
	hangs := !p.missed && p.asked == p.hangs
	p.missed = p.missed || hangs
	p.mu.Unlock()
	if !hangs {
		p.prefixPeer.ServeHTTP(w, r)
		return
	}
	if f, err := os.OpenFile(filepath.Join(p.dir, "ready"), os.O_WRONLY, 0); err == nil {
		fmt.Fprintln(f, "on")
		_ = f.Close()
	}
	_, _ = io.Copy(io.Discard, r.Body) // else nobody hears that the client has gone
	<-r.Context().Done()
}

// Killed during a loop of tools with a thinking model: on each wire the run continues with the
// earlier thoughts, and only the call without an answer is repeated.
func TestKilledInALoopThatThinks(t *testing.T) {
	for name, wire := range wires() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := &hangingPeer{prefixPeer: prefixPeer{answer: wire.answer, list: wire.list}, dir: dir, hangs: 5}
			server := httptest.NewServer(p)
			defer server.Close()
			result := killed(t, dir, "graphrun: v1\nname: m\nstart: a\nmodels: {default: there/m}\nproviders: {there: {"+wire.declared+", base_url: \""+server.URL+"\"}}\n"+
				"tools: {look: {exec: {command: [sh, -c, 'echo x >> "+dir+"/looks; cat'], parse: json}, parameters: {type: object}}}\n"+
				"nodes: {a: {kind: agent, prompt: go, tools: [look], loop: {max_turns: 30, stuck_after: 30}}}\nedges: [{from: a, to: END}]\n")
			p.mu.Lock()
			defer p.mu.Unlock()
			usage, _ := result["usage"].(map[string]any)
			if p.asked != 12 || p.turn != 11 || usage["llm_calls"] != 11.0 || len(p.problems) > 0 {
				t.Errorf("%d requests, %d answers, usage %v\n%s", p.asked, p.turn, usage, strings.Join(p.problems, "\n"))
			}
			looks, err := os.ReadFile(filepath.Join(dir, "looks"))
			if n := strings.Count(string(looks), "x"); err != nil || n != 10 {
				t.Errorf("%d calls of the tool, %v", n, err)
			}
			last := fmt.Sprintf("%s", p.before)
			for n := 1; n < 11; n++ {
				if !strings.Contains(last, fmt.Sprintf(`thought %d"`, n)) {
					t.Errorf("thought %d is gone", n)
				}
			}
		})
	}
}
