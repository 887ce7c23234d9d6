// Package scripttest runs the sessions of testdata/script, for the program of this module and for the
// program of the temporal module.
package scripttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Params returns the parameters of sessions. Each session has its own folders for settings and runs.
func Params() testscript.Params {
	return testscript.Params{
		Setup: func(env *testscript.Env) error {
			// The race detector would delay the exit of every program by a second.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".config"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "cluster": // runs are driven by a cluster
				return false, nil
			case "tracing": // strace is installed and may trace processes
				return exec.Command("strace", "-f", "-o", os.DevNull, "true").Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code":    commandCode,
			"steady":  commandSteady,
			"overdue": commandOverdue,
			"json":    commandJSON,
			"events":  commandEvents,
			"streams": commandStreams,
			"server":  commandServer,
		},
	}
}

// commandCode implements `code N program args...`: the program must exit with code N.
func commandCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// commandOverdue implements `overdue stdout`: it waits until the due time of the result in stdout has
// passed.
func commandOverdue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: overdue stdout|FILE")
	}
	var result struct{ Due time.Time }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &result))
	if result.Due.IsZero() || time.Until(result.Due) > time.Minute {
		ts.Fatalf("it is due at %s", result.Due)
	}
	time.Sleep(time.Until(result.Due))
}

// commandSteady implements `steady stdout|stderr FILE`: it writes the output of the last program to
// FILE, with times, durations and run ids replaced, so that it can be compared.
func commandSteady(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: steady stdout|stderr FILE")
	}
	text := ts.ReadFile(args[0])
	for _, r := range []struct{ pattern, with string }{
		{`"run_id":\s*"[^"]*"`, `"run_id":"ID"`},
		{`"(time|started_at)":\s*"[^"]*"`, `"$1":"TIME"`},
		{`"(duration_ms|next_delay_ms)":\s*\d+`, `"$1":0`},
		{`(?m)^run \S+ of`, `run ID of`},
		{`\b(graphrun (?:logs|why|resume|answer)) [0-9a-f]+-[0-9a-f-]+`, `$1 ID`},
		{` +(\d+ms|\d+\.\ds)\b`, ` TIME`},
		{` --engine temporal\b`, ``},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	text = strings.ReplaceAll(text, "\t", " ")
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}
