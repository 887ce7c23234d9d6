package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

// newShellTask returns a task that runs a shell script.
func newShellTask(script string, more map[string]any) *runner.Task {
	config := map[string]any{"script": script}
	for k, v := range more {
		config[k] = v
	}
	return &runner.Task{Config: config}
}

func runExec(t *testing.T, task *runner.Task) (any, error) {
	t.Helper()
	return runKind(t.Context(), "exec", testOptions(), task)
}

func TestExecOutput(t *testing.T) {
	for _, test := range []struct {
		name, parse, stdout string
		want                any
	}{
		{"auto object", "", `{"a": [1, 2.5, "x", null]}`, map[string]any{"a": []any{1, 2.5, "x", nil}}},
		{"auto whole float is int", "auto", " 2.0\n", 2},
		{"auto number", "auto", "42\n", 42},
		{"auto text", "auto", "hello\nworld\n", "hello\nworld"},
		{"auto two values are text", "auto", "1 2\n", "1 2"},
		{"auto nothing", "auto", "", ""},
		{"auto unfinished is text", "auto", `{"a": 1`, `{"a": 1`},
		{"text loses one line break", "text", "a\n\n", "a\n"},
		{"text of windows", "text", "a\r\n", "a"},
		{"text keeps a lone carriage return", "text", "a\r", "a\r"},
		{"text keeps json", "text", "{}\n", "{}"},
		{"text is valid", "text", "a\xffb", "a\uFFFDb"},
		{"lines", "lines", "a\n\nb\r\n", []any{"a", "", "b"}},
		{"lines without last break", "lines", "a\nb", []any{"a", "b"}},
		{"lines of nothing", "lines", "", []any{}},
		{"json", "json", "\uFEFF[true]\n", []any{true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			task := newShellTask("cat", map[string]any{"stdin": test.stdout})
			if test.parse != "" {
				task.Config["parse"] = test.parse
			}
			got, err := runExec(t, task)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExecBadJSON(t *testing.T) {
	for _, test := range []struct{ stdout, part string }{
		{"{\"a\": 1,\n  oops}", "line 2, column 3"},
		{"[1, 2", "line 1, column 5: unexpected end of JSON input"},
		{"{} {}", "line 1, column 4: invalid character '{' after top-level value"},
		{"  \n", "it is empty"},
		{"\x1b[31mno\x1b[0m json", `begins "no json"`},
		{"1e999", "not one JSON value"},
	} {
		_, err := runExec(t, newShellTask("cat", map[string]any{"stdin": test.stdout, "parse": "json"}))
		checkFailure(t, err, "invalid_output", test.part, `"sh"`)
	}
}

func TestExecArguments(t *testing.T) {
	task := helperTask("args", "", "$(touch pwned)", "a b", "", 3, 2.5, true, nil, []any{1, "x"}, map[string]any{"b": 1, "a": 2})
	got, err := runExec(t, task)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{"$(touch pwned)", "a b", "", "3", "2.5", "true", "", `[1,"x"]`, `{"a":2,"b":1}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestExecStdin(t *testing.T) {
	task := newShellTask("cat", nil)
	task.Node, task.Visit = "outer/inner", 3
	task.Input = []any{"<&>"}
	task.State = map[string]any{"who": `Ada "L"`}
	for _, test := range []struct {
		name  string
		stdin any
		want  string
	}{
		{"default", "absent", `{"input":["<&>"],"node":"outer/inner","state":{"who":"Ada \"L\""},"visit":3}` + "\n"},
		{"text", "as it is\n", "as it is\n"},
		{"data", map[string]any{"b": []any{1}, "a": nil}, `{"a":null,"b":[1]}`},
		{"number", 2.0, "2"},
		{"null", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			delete(task.Config, "stdin")
			if test.stdin != "absent" {
				task.Config["stdin"] = test.stdin
			}
			task.Config["script"] = `cat; echo .`
			task.Config["parse"] = "text"
			got, err := runExec(t, task)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want+"." {
				t.Errorf("stdin is %q, want %q", got, test.want)
			}
		})
	}
}

func TestExecStdinUnread(t *testing.T) {
	task := newShellTask("echo fine", map[string]any{"stdin": strings.Repeat("x", 1<<20)})
	if got, err := runExec(t, task); got != "fine" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestExecEnvironment(t *testing.T) {
	t.Setenv("GRAPHRUN_TASK_KEY", "of the parent")
	t.Setenv("GRAPHRUN_TASK_OLD", "of the parent")
	t.Setenv("NODE_TEST_KEPT", "kept")
	t.Setenv("NODE_TEST_CHANGED", "before")
	task := newShellTask(`for v in RUN_ID NODE VISIT ATTEMPT KEY OLD; do eval "echo $v=\${GRAPHRUN_TASK_$v-unset}"; done
		echo "$NODE_TEST_KEPT $NODE_TEST_CHANGED $N"; pwd; echo "$PWD"; test -f "$GRAPHRUN_TASK_EVENTS" && echo file`,
		map[string]any{
			"parse": "lines", "env": map[string]any{"NODE_TEST_CHANGED": "after", "N": 1.5},
			"env_pass": []any{"NODE_TEST_KEPT", "NODE_TEST_CHANGED", "GRAPHRUN_TASK_OLD"},
		})
	task.RunID, task.Node, task.Visit, task.Attempt, task.Key = "r1", "a", 2, 4, "k"
	task.Dir = realDir(t)
	got, err := runExec(t, task)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{
		"RUN_ID=r1", "NODE=a", "VISIT=2", "ATTEMPT=4", "KEY=k", "OLD=unset",
		"kept after 1.5", task.Dir, task.Dir, "file",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// realDir returns a new folder whose path has no symbolic links.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestExecPlaces(t *testing.T) {
	root := realDir(t)
	sub := filepath.Join(root, "sub")
	if err := os.MkdirAll(filepath.Join(sub, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{"bin/tool": 0o755, "bin/data": 0o644} {
		if err := os.WriteFile(filepath.Join(sub, path), []byte("#!/bin/sh\npwd\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name   string
		config map[string]any
		want   string
		kind   string
		part   string
	}{
		{"folder of the flow", map[string]any{"command": []any{"pwd"}}, root, "", ""},
		{"relative dir", map[string]any{"command": []any{"pwd"}, "dir": "sub"}, sub, "", ""},
		{"absolute dir", map[string]any{"command": []any{"pwd"}, "dir": sub}, sub, "", ""},
		{"program relative to dir", map[string]any{"command": []any{"./bin/tool"}, "dir": "sub"}, sub, "", ""},
		{"own PATH", map[string]any{"command": []any{"tool"}, "dir": "sub", "env": map[string]any{"PATH": "none:bin"}}, sub, "", ""},
		{"other shell", map[string]any{"script": "pwd", "shell": "bash"}, root, "", ""},
		{"no such dir", map[string]any{"command": []any{"pwd"}, "dir": "nope"}, "", "failed", `nope: no such file or directory`},
		{"dir is a file", map[string]any{"command": []any{"pwd"}, "dir": "sub/bin/tool"}, "", "failed", "not a directory"},
		{"no such program", map[string]any{"command": []any{"no-such-program"}}, "", "failed", `"no-such-program" was not found in PATH`},
		{"no such path", map[string]any{"command": []any{"./nope"}}, "", "failed", `"./nope" was not found: check its path`},
		{"not executable", map[string]any{"command": []any{"sub/bin/data"}}, "", "failed", "execute permission"},
		{"no such shell", map[string]any{"script": "pwd", "shell": "no-such-shell"}, "", "failed", `"no-such-shell"`},
		{"argument list too long", map[string]any{"command": []any{"echo", strings.Repeat("x", 4<<20)}}, "", "failed", "argument list too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := runExec(t, &runner.Task{Dir: root, Config: test.config})
			if test.kind != "" {
				checkFailure(t, err, test.kind, test.part)
				return
			}
			if got != test.want || err != nil {
				t.Errorf("got %v, %v; want %v", got, err, test.want)
			}
		})
	}
}

func TestExecBadConfig(t *testing.T) {
	for _, test := range []struct {
		config map[string]any
		part   string
	}{
		{map[string]any{}, "no program"},
		{map[string]any{"command": []any{}}, "no program"},
		{map[string]any{"command": []any{""}}, "no program"},
		{map[string]any{"command": "ls"}, `"command" is a text`},
		{map[string]any{"script": "ls", "max_output": 0}, `"max_output" is 0`},
		{map[string]any{"script": "ls", "max_output": "big"}, `"max_output" is "big"`},
		{map[string]any{"script": "ls", "env": []any{}}, `"env" is a list`},
		{map[string]any{"script": "ls", "env": map[string]any{"A=B": ""}}, `"A=B"`},
		{map[string]any{"script": "ls", "env": map[string]any{"": ""}}, `""`},
		{map[string]any{"script": "ls", "env": map[string]any{"GRAPHRUN_TASK_KEY": "x"}}, "GRAPHRUN_TASK_KEY"},
		{map[string]any{"script": []any{"ls"}}, `"script" is a list`},
		{map[string]any{"script": "ls", "dir": map[string]any{}}, `"dir" is an object`},
	} {
		_, err := runExec(t, &runner.Task{Config: test.config})
		checkFailure(t, err, "invalid_input", test.part)
	}
}

func TestExecExitStatus(t *testing.T) {
	for _, test := range []struct {
		name, script, message string
		details               map[string]any
	}{
		{
			"code", "echo out; echo one >&2; printf '\\033[31mtwo\\033[0m\\n\\n' >&2; exit 3", `"sh" exited with code 3: two`,
			map[string]any{"exit_code": 3, "stderr": "one\n\x1b[31mtwo\x1b[0m\n\n", "stdout": "out\n"},
		},
		{
			"silent", "exit 1", `"sh" exited with code 1`,
			map[string]any{"exit_code": 1, "stderr": "", "stdout": ""},
		},
		{
			"signal", "kill -KILL $$", `"sh" was killed by signal SIGKILL`,
			map[string]any{"exit_code": 137, "signal": "SIGKILL", "stderr": "", "stdout": ""},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := runExec(t, newShellTask(test.script, nil))
			failure := checkFailure(t, err, "exit_status")
			if failure.Message != test.message {
				t.Errorf("message is %q, want %q", failure.Message, test.message)
			}
			if diff := cmp.Diff(test.details, failure.Details); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExecLongStderr(t *testing.T) {
	script := `i=0; while [ $i -lt 3000 ]; do echo "line $i é"; i=$((i+1)); done >&2; exit 1`
	_, err := runExec(t, newShellTask(script, nil))
	failure := checkFailure(t, err, "exit_status", "line 2999 é")
	stderr, _ := failure.Details["stderr"].(string)
	if len(stderr) > detailBytes || len(stderr) < detailBytes-4 || !strings.HasSuffix(stderr, "line 2999 é\n") {
		t.Errorf("stderr has %d bytes and ends %q", len(stderr), stderr[max(0, len(stderr)-20):])
	}
}

func TestExecEndedContext(t *testing.T) {
	dir := t.TempDir()
	task := newShellTask("touch ran", nil)
	task.Dir = dir
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := runKind(ctx, "exec", testOptions(), task)
	checkFailure(t, err, "cancelled", `"sh" was not started`)
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the program was run")
	}
}

// Tasks of all runs in a process share one keeper, and so one watchdog. The end of a run does not
// close it.
func TestExecSharesKeeper(t *testing.T) {
	var around handler.Scope
	defer around.Close()
	var places []any
	for range 2 {
		task := newShellTask(`dirname "$GRAPHRUN_TASK_MARK"`, nil)
		task.Scope = handler.NewScope(&around, "")
		place, err := runExec(t, task)
		if err != nil {
			t.Fatal(err)
		}
		task.Scope.Close()
		places = append(places, place)
	}
	if places[0] != places[1] || places[0] == "" {
		t.Errorf("the programs of two tasks are marked in %v, want one folder", places)
	}
}
