// The command `code` of the sessions, and the program in docs/library.md.

package docstest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphrun/graphrun/internal/longtest"
)

// commandCode is `code N program args...`: the program ends with exit code N.
func commandCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// The program of docs/library.md is examples/library, and prints what the page
// says.
func TestLibrary(t *testing.T) {
	p := readPage(t, "docs/library.md")
	var shown string
	for _, b := range p.blocks() {
		if b.info == "go" {
			shown = b.text
		}
	}
	source, err := os.ReadFile(filepath.Join(root(), "examples", "library", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "package main\n")
	if diff := cmp.Diff(shown, "package main\n"+body); diff != "" {
		t.Errorf("docs/library.md differs from examples/library/main.go (-page +program):\n%s", diff)
	}
	run := exec.Command("go", append(append([]string{"run"}, longtest.BuildFlags()...), "./examples/library")...)
	run.Dir = root()
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := strings.TrimSpace(string(out)); !strings.Contains(p.text, "It prints `"+want+"`") {
		t.Errorf("docs/library.md does not say that it prints %q", want)
	}
}
