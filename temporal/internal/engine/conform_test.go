package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/internal/cli"
	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// serverOf starts a real Temporal server for a test and returns its address.
func serverOf(t *testing.T) string {
	t.Helper()
	address, _ := startServer(t)
	return address
}

// startServer starts a real Temporal server; kill ends it at once.
func startServer(t *testing.T, args ...string) (address string, kill func()) {
	t.Helper()
	program := os.Getenv("GRAPHRUN_TEST_TEMPORAL")
	if program == "" {
		t.Skip("GRAPHRUN_TEST_TEMPORAL does not name a Temporal server; .ci/temporal builds one")
	}
	server := exec.Command(program, args...)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	t.Cleanup(kill)
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the server did not come up")
	}
	return lines.Text(), kill
}

// startWorker starts a worker in this process.
func startWorker(t *testing.T, o engine.Options, w engine.WorkerOptions) {
	t.Helper()
	var cluster *engine.Cluster
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); { // the namespace comes a moment after the port
		if cluster, err = o.Dial(); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	stop, err := cluster.StartWorker(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		cluster.Close()
	})
}

// command runs one command line, here or on the cluster.
func command(o *engine.Options, args ...string) (stdout, stderr string, code int) {
	return interrupted(context.Background(), o, args...)
}

// interrupted runs one command line that is interrupted when ctx ends.
func interrupted(ctx context.Context, o *engine.Options, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	p := cli.Program{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	if o != nil {
		p.Engine = func(cli.EngineSettings) (cli.Engine, error) { return o.Dial() }
	}
	code = cli.Main(ctx, p)
	return out.String(), errs.String(), code
}

// outcome holds the results that must be the same with both engines.
type outcome struct {
	Code    int
	Status  string         `json:"status"`
	Quality any            `json:"quality"`
	Reason  string         `json:"reason"`
	Limited bool           `json:"limited"`
	Steps   int            `json:"steps"`
	Path    []string       `json:"path"`
	State   map[string]any `json:"state"`
	Output  any            `json:"output"`
	Error   any            `json:"error"`
	Pending any            `json:"pending"`
	Edges   any            `json:"edges"`
	Usage   any            `json:"usage"`
}

// flow is one run of the conformance test: how it begins, and how it is resumed.
type flow struct {
	dir     string
	args    []string
	resumes [][]string
}

func conformance() []flow {
	return []flow{
		{dir: "approval"},
		{dir: "approval", args: []string{"-i", "payee=Shady"}},
		{dir: "diamond"},
		{dir: "list-fan-out"},
		{dir: "list-fan-out", args: []string{"-i", `pages:=["jobs"]`}},
		{dir: "negotiation"},
		{dir: "negotiation", args: []string{"--model", "default=scripted/stubborn.yaml"}},
		{dir: "plan-code-test"},
		{dir: "race"},
		{dir: "retry-with-fallback"},
		{dir: "review-board"},
		{dir: "rollout"},
		{dir: "rollout", resumes: [][]string{
			{"--answer", "notes:risk=low"},
			{"--answer", "notes:headline=Faster"},
			{"--answer", "region[1]/approve=ship", "--answer", "region[0]/approve=leave"},
		}},
		{dir: "rollout", args: []string{"--answer", "notes:risk=high", "--answer", "notes:headline=Bugs", "--pause-before", "region"}, resumes: [][]string{
			{"--answer", "region/approve=ship", "--answer", "region/approve=ship", "--pause-after", "region/approve"}, {},
		}},
		{dir: "selective-feedback", args: []string{"-i", "max_words=3"}},
		{dir: "subgraph"},
		{dir: "subgraph", args: []string{"-i", "article=piano"}},
		{dir: "supervisor"},
		{dir: "support-triage"},
		{dir: "swarm"},
		{dir: "tool-agent", args: []string{"--model", "judge=scripted/strict-judge.yaml", "--answer", "person=3.50"}},
		{dir: "tool-loop"},
		{dir: "tool-router"},
		{dir: "triage"},
		{dir: "triage", args: []string{"--answer", "decide=wake"}},
		{dir: "what-if"},
		{dir: "writer-critic"},
	}
}

// TestHints: the commands that a command suggests find the run again.
func TestHints(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{})
	t.Chdir("../../../examples/triage")
	_, stderr, code := command(&o, "run", "flow.yaml", "--run-id", "hints")
	if want := "--engine temporal"; code != 10 || !strings.Contains(stderr, want) || strings.Contains(stderr, "--store") {
		t.Errorf("exit code %d, want 10 and %q in\n%s", code, want, stderr)
	}
}

// TestConformance runs the examples with both engines.
func TestConformance(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{})
	examples, err := filepath.Abs("../../../examples")
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(t.TempDir(), "runs.db")
	for i, f := range conformance() {
		id := "c" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		t.Run(f.dir+"-"+id, func(t *testing.T) {
			t.Chdir(filepath.Join(examples, f.dir))
			run := func(o *engine.Options, id string) (all []outcome) {
				where := []string{"--store", store}
				if o != nil {
					where = nil
				}
				add := func(args ...string) {
					stdout, stderr, code := command(o, append(append(args, "-o", "json"), where...)...)
					var out outcome
					if err := json.Unmarshal([]byte(stdout), &out); err != nil {
						t.Fatalf("%v: %v\n%s\n%s", args, err, stdout, stderr)
					}
					out.Code = code
					all = append(all, out)
				}
				add(append([]string{"run", "flow.yaml", "--run-id", id}, f.args...)...)
				for _, args := range f.resumes {
					add(append([]string{"resume", id}, args...)...)
				}
				return all
			}
			want := run(nil, id)
			if diff := cmp.Diff(want, run(&o, id)); diff != "" {
				t.Errorf("on this machine (-), on the cluster (+):\n%s", diff)
			}
		})
	}
}
