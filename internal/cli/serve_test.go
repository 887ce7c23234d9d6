//go:build unix

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// servedFlow waits in its second node until a file is there.
const servedFlow = `graphrun: v1
name: served
start: first
state: {seen: {type: array, items: {type: string}, default: [], reducer: append}}
nodes:
  first: {kind: set, set: {seen: [first]}}
  nap: {kind: exec, command: [sh, -c, "echo ran >> ran; while [ ! -e wake ]; do sleep 0.02; done"], timeout: 60s}
  last: {kind: set, set: {seen: [last]}}
edges: [{from: first, to: nap}, {from: nap, to: last}, {from: last, to: END}]
`

// servingProcess is a graphrun serve of its own.
type servingProcess struct {
	t    *testing.T
	cmd  *exec.Cmd
	base string
	head http.Header
}

// startServing starts graphrun serve in a folder.
func startServing(t *testing.T, dir string, args ...string) *servingProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: self, Args: append([]string{"graphrun", "serve", ".", "--listen", "127.0.0.1:0"}, args...), Dir: dir, Stderr: os.Stderr}
	cmd.Env = append(os.Environ(), "GRAPHRUN_STORE="+filepath.Join(dir, "runs.db"), "XDG_CONFIG_HOME="+dir, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("serve printed %q: %v", line, err)
	}
	link, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return &servingProcess{t, cmd, "http://" + link.Host, http.Header{"Authorization": {"Bearer " + link.Query().Get("token")}, "Content-Type": {"application/json"}}}
}

// ask sends a request to the API and reads the object that it answers.
func (p *servingProcess) ask(method, path, body string) map[string]any {
	p.t.Helper()
	r, err := http.NewRequest(method, p.base+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header = p.head
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	out := map[string]any{}
	if err != nil || answer.StatusCode >= 300 || json.Unmarshal(text, &out) != nil {
		p.t.Fatalf("%s %s: %s %v\n%s", method, path, answer.Status, err, text)
	}
	return out
}

// wait waits until a run is as wanted.
func (p *servingProcess) wait(run string, wanted func(map[string]any) bool) map[string]any {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		got := p.ask("GET", "/runs/"+run, "")
		if wanted(got) {
			return got
		}
		if time.Now().After(end) {
			p.t.Fatalf("run %s is %v", run, got)
		}
	}
}

// TestServeRestarted: a new server continues the runs of a killed or stopped one. Nothing is
// lost, and only interrupted work is repeated.
func TestServeRestarted(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		code   int
		ran    int // times that the node began
	}{{syscall.SIGKILL, -1, 2}, {syscall.SIGTERM, 0, 1}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "flow.yaml"), servedFlow)
			first := startServing(t, dir)
			first.ask("POST", "/runs", `{"flow":"flow.yaml","run_id":"r"}`)
			first.wait("r", func(map[string]any) bool { _, err := os.Stat(filepath.Join(dir, "ran")); return err == nil })
			if err := first.cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if c.signal == syscall.SIGTERM {
				time.AfterFunc(100*time.Millisecond, func() { _ = os.WriteFile(filepath.Join(dir, "wake"), nil, 0o600) })
			}
			_ = first.cmd.Wait()
			if code := first.cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			write(t, filepath.Join(dir, "wake"), "")
			second := startServing(t, dir)
			run := second.wait("r", func(run map[string]any) bool { return run["status"] == "completed" })
			if got := fmt.Sprint(run["path"], run["state"]); got != "[first nap last] map[seen:[first last]]" {
				t.Errorf("the run went %s", got)
			}
			ran, err := os.ReadFile(filepath.Join(dir, "ran"))
			if err != nil || strings.Count(string(ran), "ran") != c.ran {
				t.Errorf("the node ran: %q, %v", ran, err)
			}
		})
	}
}
