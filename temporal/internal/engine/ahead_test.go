package engine_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// gate is a flow whose tasks wait for a file.
const gate = `graphrun: v1
name: gate
start: wait
state: {dir: {type: string, required: true}, out: {type: array, default: []}}
nodes:
  wait:
    kind: exec
    each: "0..1"
    script: 'touch "$DIR/began"; until test -e "$DIR/open"; do sleep 0.05; done; echo 1'
    env: {DIR: "{{ dir }}"}
    writes: {out: output}
edges:
  - {from: wait, to: END}
`

// TestReadAhead: a worker that reads the events of a run reads its history to the end, even past
// the completed workflow tasks. Decisions after those have no final time yet, so they are not
// reported before.
func TestReadAhead(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{Queue: "nothing"}) // the server is ready
	dir := t.TempDir()
	file := filepath.Join(dir, "flow.yaml")
	if err := os.WriteFile(file, []byte(gate), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := o.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first := workerProcess(t, o)
	ended := make(chan int)
	go func() {
		_, _, code := command(&o, "run", file, "-i", "dir="+dir, "--run-id", "ahead", "-o", "json")
		ended <- code
	}()
	waitFor(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "began"))
		return err == nil
	})
	kill(first)

	type reading struct {
		texts []string
		err   error
	}
	read := make(chan reading)
	go func() { // of a worker that is gone, and then of another one
		texts, err := c.Texts(t.Context(), "ahead", 0)
		read <- reading{texts, err}
	}()
	time.Sleep(time.Second) // the cluster has given the question to the worker that is gone
	if err := c.CancelWorkflow(t.Context(), "ahead"); err != nil {
		t.Fatal(err)
	}
	second := workerProcess(t, o)
	defer func() { kill(second) }()
	early := <-read
	if early.err != nil {
		t.Fatal(early.err)
	}
	if err := os.WriteFile(filepath.Join(dir, "open"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	late, err := c.Texts(t.Context(), "ahead", 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d events were read early, %d late", len(early.texts), len(late))
	for i, text := range early.texts {
		if i >= len(late) || late[i] != text {
			t.Fatalf("event %d of %d was read as\n%s\nand is, of %d,\n%s", i, len(early.texts), text, len(late), late[min(i, len(late)-1)])
		}
	}
}
