package crashtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const approvalFlow = `graphrun: v1
name: approval
start: s
limits: {timeout: 2m}
models: {default: p/m}
secrets: {server: {env: SERVER}}
providers: {p: {type: openai, api: responses, base_url: "{{ secrets.server }}"}}
state: {answer: {type: string}}
tools:
  pay: {exec: {command: [sh, -c, "cat >> paid; echo paid"]}, approve: always, parameters: {type: object}}
  look: {exec: {command: [sh, -c, "echo once >> looked; echo seen"]}, parameters: {type: object}}
nodes:
  s: {kind: pass}
  a: {kind: agent, prompt: Pay., tools: [pay, look], writes: [answer]}
  w: {kind: exec, script: "test -e begun && exit; touch begun; exec sleep 100"}
  j: {kind: pass, join: {wait: all}}
edges: [{from: s, to: [a, w]}, {from: [a, w], to: j}, {from: j, to: END}]
`

// thinker is a model that reasons before it looks, pays and answers. The third request
// waits for the end of the test's first driver that makes it.
type thinker struct {
	mu    sync.Mutex
	asked []string // the encrypted reasoning of each request
	stuck chan struct{}
	once  sync.Once
}

func (m *thinker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Input []struct{ Type, Encrypted string }
	}
	text, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal([]byte(strings.ReplaceAll(string(text), "encrypted_content", "encrypted")), &body)
	calls, opaque := 0, ""
	for _, item := range body.Input {
		if opaque += item.Encrypted; item.Type == "function_call" {
			calls++
		}
	}
	m.mu.Lock()
	m.asked = append(m.asked, opaque)
	m.mu.Unlock()
	if calls == 2 {
		first := false
		m.once.Do(func() { first = true })
		if first {
			close(m.stuck)
			<-r.Context().Done()
			return
		}
	}
	said := []string{
		`{"type":"function_call","id":"f1","call_id":"c1","name":"look","arguments":"{}","status":"completed"}`,
		`{"type":"function_call","id":"f2","call_id":"c2","name":"pay","arguments":"{\"sum\":3}","status":"completed"}`,
		`{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"done","annotations":[]}]}`,
	}[calls]
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"r","object":"response","status":"completed","output":[{"type":"reasoning","id":"rs%d","summary":[],"encrypted_content":"<%d>"},%s],"usage":{"input_tokens":10,"output_tokens":3}}`, calls, calls, said)
}

// One driver is killed while a tool call waits for approval, and the next one after the call.
// Nothing is asked, done or paid for twice, and the model gets its reasoning back unchanged.
func TestKilledWhileACallWaitsForApproval(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "flow.yaml"), []byte(approvalFlow), 0o600); err != nil {
		t.Fatal(err)
	}
	model := &thinker{stuck: make(chan struct{})}
	server := httptest.NewServer(model)
	defer server.Close()
	program := func(args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], append(args, "--store", "runs.db")...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), programEnv+"=1", "SERVER="+server.URL, "GORACE=atexit_sleep_ms=0")
		return cmd
	}
	kill := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	first := program("run", "flow.yaml", "--run-id", "one", "--no-input")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	pending := ""
	for first.ProcessState == nil && !strings.Contains(pending, `"pay#2"`) {
		out, _ := program("runs", "pending", "-o", "json").Output() // fails until the run has started
		pending = string(out)
	}
	kill(first)
	if out, err := program("answer", "one", "a:pay#2=approve").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	second := program("resume", "one", "--no-input")
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	<-model.stuck
	kill(second)
	out, err := program("resume", "one", "--no-input", "-o", "json").Output()
	var result struct {
		Status string
		State  map[string]any
	}
	if err != nil || json.Unmarshal(out, &result) != nil || result.Status != "completed" || result.State["answer"] != "done" {
		t.Errorf("%v: %s", err, out)
	}
	for name, want := range map[string]string{"paid": `{"sum":3}`, "looked": "once"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || strings.TrimSpace(string(text)) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	// Only the request that the kill interrupted is repeated.
	if diff := cmp.Diff([]string{"", "<0>", "<0><1>", "<0><1>"}, model.asked); diff != "" {
		t.Errorf("the model was asked (-want +got):\n%s", diff)
	}
}
