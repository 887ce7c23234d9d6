//go:build linux

// The programs of a driver die with it, and none of them runs next to the next driver.

package crashtest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childrenFlow starts four programs that hold a pipe open: that of the task, one in its process
// group, one in a new session, and one without an environment. The first reports that it is ready.
const childrenFlow = `graphrun: v1
name: children
start: a
limits: {node_timeout: 5m}
nodes:
  a:
    kind: exec
    script: |
      [ -e again ] && exit 0
      exec 3> pipe
      (while sleep 100; do :; done) &
      setsid sh -c 'while sleep 100; do :; done' &
      env -i PATH="$PATH" sh -c 'while sleep 100; do :; done' &
      echo ready >&3
      while sleep 100; do :; done
edges: [{from: a, to: END}]
`

// serverFlow does the same in an MCP server that never answers.
const serverFlow = `graphrun: v1
name: children
start: a
limits: {node_timeout: 5m}
tools: {kept: {mcp: {command: [sh, server.sh]}}}
nodes: {a: {kind: tool, tool: kept.any}}
edges: [{from: a, to: END}, {from: a, to: END, condition: on_failure}]
`

const serverScript = `[ -e again ] && exit 1
exec 3> pipe
setsid sh -c 'while sleep 100; do :; done' &
echo ready >&3
while sleep 100; do :; done
`

func TestChildrenDieWithTheirDriver(t *testing.T) {
	for _, test := range []struct {
		name   string
		flow   string
		signal syscall.Signal
	}{
		{"kill", childrenFlow, syscall.SIGKILL},
		{"quit", childrenFlow, syscall.SIGQUIT},
		{"hang up", childrenFlow, syscall.SIGHUP},
		{"terminate", childrenFlow, syscall.SIGTERM},
		{"kill, with a server", serverFlow, syscall.SIGKILL},
		{"terminate, with a server", serverFlow, syscall.SIGTERM},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "flow.yaml"), test.flow)
			writeFile(t, filepath.Join(dir, "server.sh"), serverScript)
			if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
			driver := newCommand(t, dir, "run", "flow.yaml", "--run-id", "r", "--no-input")
			if err := driver.Start(); err != nil {
				t.Fatal(err)
			}
			pipe, err := os.Open(filepath.Join(dir, "pipe")) // waits for the program
			if err != nil {
				t.Fatal(err)
			}
			defer pipe.Close()
			said := bufio.NewReader(pipe)
			if line, err := said.ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			if err := driver.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			_ = driver.Wait() // the signal decides its exit code
			writeFile(t, filepath.Join(dir, "again"), "")
			out, err := newCommand(t, dir, "resume", "r", "--no-input", "-o", "json").CombinedOutput()
			if err != nil || !strings.Contains(string(out), `"status":"completed"`) {
				t.Errorf("resume: %v: %s", err, out)
			}
			// The pipe ends when no process holds it open any more.
			gone := make(chan error, 1)
			go func() { _, err := io.Copy(io.Discard, said); gone <- err }()
			select {
			case err := <-gone:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(20 * time.Second):
				t.Error("a program of the driver before still runs")
			}
			left, err := filepath.Glob(filepath.Join(dir, "*", "*.tasks"))
			if err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// newCommand returns a graphrun command that works in a folder and has its store there.
func newCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], append(args, "--store", filepath.Join(dir, "runs.db"))...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), programEnv+"=1", "GORACE=atexit_sleep_ms=0", "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
	return cmd
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
