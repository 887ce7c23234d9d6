package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphrun/graphrun/internal/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"graphrun": func() {
		if !slices.Contains(os.Args, "worker") {
			time.AfterFunc(2*time.Minute, func() { // which says where it hangs
				panic("the command takes longer than any does in a session")
			})
		}
		main()
	}})
}

// scripts is the folder of the sessions.
var scripts = filepath.Join("..", "..", "..", "testdata", "script")

// leftOut are the sessions that don't make sense on a cluster, and why. Where only some
// lines of one don't, they say [!cluster]. See "What differs" in docs/temporal.md.
var leftOut = map[string]string{
	"durable_faults":     "is about faults of the file that runs are kept in",
	"durable_race":       "is about two processes that want to drive one run",
	"secrets_stored":     "is about the file that runs are kept in",
	"durable_store_gone": "is about the file that runs are kept in",
	"engine":             "is about a graphrun that does not have the engine",
	"next":               "is about the flags that say which file runs are kept in",
	"no_home":            "is about the file that runs are kept in",
	"park_limits":        "--park frees a process; on a cluster a run that waits has none",
	"run_stands":         "is about runs whose process was killed: they go on elsewhere",
	"serve":              "serve only shows the runs of a cluster",
	"triggers":           "serve begins no runs on a cluster",
}

// few are the sessions that run unless GRAPHRUN_TEST_SESSIONS is all.
var few = []string{
	"agent", "approve", "concurrency", "durable_human", "durable_sessions", "durable_why", "durable_withfile", "each_subgraphs", "events_calls", "failure", "finally", "graphs",
	"kinds", "limits_steps", "parallel_joins", "people_each", "people_interrupts", "policies", "recordings", "recordings_tool", "routing_order",
	"run_exit_codes", "secrets_canary", "tools", "tools_graph", "writes_reducers",
}

// TestScripts runs the sessions of testdata/script as they are, with runs on a real
// cluster: each session has a namespace and a worker of its own.
func TestScripts(t *testing.T) {
	files := sessionFiles(t)
	if os.Getenv("GRAPHRUN_TEST_SESSIONS") != "all" {
		files = slices.DeleteFunc(files, func(file string) bool { return !slices.Contains(few, sessionName(file)) })
	}
	files = slices.DeleteFunc(files, func(file string) bool { return leftOut[sessionName(file)] != "" })
	testscript.Run(t, params(t, files))
}

// TestLeftOut: no session is left out that would do.
func TestLeftOut(t *testing.T) {
	var files []string
	for name, why := range leftOut {
		file := filepath.Join(scripts, name+".txtar")
		if _, err := os.Stat(file); err != nil || why == "" {
			t.Errorf("session %q, left out because it %s: %v", name, why, err)
		}
		files = append(files, file)
	}
	if os.Getenv("GRAPHRUN_TEST_SESSIONS") != "all" {
		t.Skip("GRAPHRUN_TEST_SESSIONS=all runs them")
	}
	all := &sessions{}
	p := params(t, files)
	testscript.RunT(all, p)
	all.group.Wait()
	for name := range leftOut {
		if !slices.Contains(all.failed, name) {
			t.Errorf("session %q passes: it need not be left out", name)
		}
	}
}

// sessions runs sessions that may fail.
type sessions struct {
	group  sync.WaitGroup
	mu     sync.Mutex
	failed []string
}

func (s *sessions) Run(name string, f func(testscript.T)) {
	s.group.Go(func() {
		one := &session{}
		defer func() {
			if recover() != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.failed = append(s.failed, name)
			}
		}()
		f(one)
	})
}

func (s *sessions) Skip(...any)   {}
func (s *sessions) Fatal(...any)  {}
func (s *sessions) Log(...any)    {}
func (s *sessions) FailNow()      {}
func (s *sessions) Parallel()     {}
func (s *sessions) Verbose() bool { return false }

// session is one of them; it panics when it fails.
type session struct{ sessions }

func (s *session) Fatal(...any) { panic("failed") }
func (s *session) FailNow()     { panic("failed") }

// sessionFiles returns the files of all sessions.
func sessionFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(scripts, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}

// sessionName returns the name of the session in a file.
func sessionName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txtar") }

// params returns the parameters for sessions, and starts a server for them.
func params(t *testing.T, files []string) testscript.Params {
	t.Helper()
	var namespaces []string
	for _, file := range files {
		namespaces = append(namespaces, sessionName(file))
	}
	address := startServer(t, namespaces)
	payloads := t.TempDir()
	p := scripttest.Params()
	p.Files = files
	setup, condition, server := p.Setup, p.Condition, p.Cmds["server"]
	p.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
		env.Setenv("GRAPHRUN_ENGINE", "temporal")
		env.Setenv("GRAPHRUN_TEMPORAL_ADDRESS", address)
		env.Setenv("GRAPHRUN_TEMPORAL_NAMESPACE", name)
		env.Setenv("GRAPHRUN_TEMPORAL_PAYLOADS", filepath.Join(payloads, name))
		return newHelper(env, filepath.Join(scripts, name+".txtar"))
	}
	p.Condition = func(name string) (bool, error) {
		if name == "cluster" {
			return true, nil
		}
		return condition(name)
	}
	p.Cmds["server"] = func(ts *testscript.TestScript, neg bool, args []string) {
		server(ts, neg, args)
		ts.Check(ts.Value(helperKey{}).(*helper).restart("SERVER=" + ts.Getenv("SERVER")))
	}
	return p
}

// startServer starts a real Temporal server with some namespaces.
func startServer(t *testing.T, namespaces []string) (address string) {
	t.Helper()
	program := os.Getenv("GRAPHRUN_TEST_TEMPORAL")
	if program == "" {
		t.Skip("GRAPHRUN_TEST_TEMPORAL does not name a Temporal server; .ci/temporal builds one")
	}
	server := exec.Command(program, "-namespaces", strings.Join(namespaces, ","))
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the server did not come up")
	}
	return lines.Text()
}

// helper keeps a worker for a session: one that ends, since a session kills it, is
// started again. Its environment has what the session sets: the secrets and programs that
// nodes need are where workers are.
type helper struct {
	path, dir string
	env       []string

	mu     sync.Mutex
	worker context.CancelFunc // ends the one that is there
	over   chan struct{}      // it is gone, and no other one comes
}

type helperKey struct{}

// assignment is NAME=VALUE of a command env.
var assignment = regexp.MustCompile(`(\w+)=('[^']*'|\S*)`)

// newHelper starts a worker for the session in a file, which ends with it.
func newHelper(env *testscript.Env, file string) error {
	path, err := exec.LookPath("graphrun")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	h := &helper{path: path, dir: env.WorkDir, env: slices.Clone(env.Vars)}
	for line := range strings.Lines(string(text)) {
		rest, is := strings.CutPrefix(line, "env ")
		if !is {
			continue
		}
		for _, set := range assignment.FindAllStringSubmatch(rest, -1) {
			known := slices.ContainsFunc(h.env, func(v string) bool { return strings.HasPrefix(v, set[1]+"=") })
			if !known { // of a name that is set twice, the first value counts
				h.env = append(h.env, set[1]+"="+os.Expand(strings.Trim(set[2], "'"), env.Getenv))
			}
		}
	}
	env.Values[helperKey{}] = h
	env.Defer(h.end)
	return h.restart()
}

// end ends the worker.
func (h *helper) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.worker != nil {
		h.worker()
		<-h.over
		h.worker = nil
	}
}

// restart starts the worker, with more in its environment, and waits until it is ready.
func (h *helper) restart(more ...string) error {
	h.end()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.env = append(h.env, more...)
	ctx, cancel := context.WithCancel(context.Background())
	h.worker, h.over = cancel, make(chan struct{})
	ready := make(chan error, 1)
	go func() {
		defer close(h.over)
		for err := h.run(ctx, ready); ctx.Err() == nil && err == nil; err = h.run(ctx, make(chan error, 1)) {
		}
	}()
	return <-ready
}

// run runs a worker until it ends.
func (h *helper) run(ctx context.Context, ready chan<- error) error {
	worker := exec.CommandContext(ctx, h.path, "worker")
	worker.Dir, worker.Env = h.dir, h.env
	said, err := worker.StderrPipe()
	if err == nil {
		err = worker.Start()
	}
	if err != nil {
		ready <- err
		return err
	}
	lines := bufio.NewScanner(said)
	for up := false; !up; {
		if !lines.Scan() {
			err = errors.New("the worker did not come up")
			break
		}
		up = strings.Contains(lines.Text(), "worker takes tasks")
	}
	ready <- err
	_, _ = io.Copy(io.Discard, said)
	_ = worker.Wait()
	return err
}
