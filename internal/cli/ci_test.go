package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// readRootFile reads a file below the repository's root.
func readRootFile(t *testing.T, name ...string) []byte {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// called runs the program in this process.
func called(t *testing.T, args ...string) (stdout string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(context.Background(), Program{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs})
	if code == exitUsage {
		t.Fatalf("%q: %s", args, errs.String())
	}
	return out.String(), code
}

// TestProblemMatcher passes the output of validate to the problem matcher: each
// finding is one match with all its parts, and nothing else matches.
func TestProblemMatcher(t *testing.T) {
	var file struct {
		ProblemMatcher []struct {
			Owner   string
			Pattern []struct {
				Regexp                                      string
				File, Line, Column, Severity, Message, Code int
			}
		}
	}
	if err := json.Unmarshal(readRootFile(t, ".github", "problem-matcher.json"), &file); err != nil {
		t.Fatal(err)
	}
	p := file.ProblemMatcher[0].Pattern[0]
	pattern := regexp.MustCompile(p.Regexp)
	flow := filepath.Join(t.TempDir(), "a: b.yaml")
	const src = `graphrun: v1
name: f
start: a
nodes: {a: {kind: pass, timout: 3s}, b: {kind: pass}}
edges:
  - {from: a, to: b}
  - {from: a, to: b}
  - {from: b, to: nowhere}
`
	if err := os.WriteFile(flow, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"error 4:25 unknown-key", "warning 7:19 duplicate-edge", "error 8:19 unknown-node",
	}
	for _, color := range []string{"never", "always"} {
		out, _ := called(t, "validate", flow, "--format", "text", "--color", color)
		var got []string
		for line := range strings.Lines(out) {
			m := pattern.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				continue
			}
			if m[p.File] != flow || m[p.Message] == "" || strings.ContainsAny(m[p.Message], "\x1b") {
				t.Errorf("file %q, message %q", m[p.File], m[p.Message])
			}
			got = append(got, fmt.Sprintf("%s %s:%s %s", m[p.Severity], m[p.Line], m[p.Column], m[p.Code]))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("color %s: got %q, want %q\n%s", color, got, want, out)
		}
	}
}

// TestDefinitionsCallWhatExists checks that the hooks and the action only use commands,
// inputs and scripts that exist.
func TestDefinitionsCallWhatExists(t *testing.T) {
	var hooks []struct {
		ID, Name, Entry, Language string
		Files                     string
		PassFilenames             *bool `yaml:"pass_filenames"`
	}
	if err := yaml.Unmarshal(readRootFile(t, ".pre-commit-hooks.yaml"), &hooks); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for _, h := range hooks {
		words := strings.Fields(h.Entry)
		if h.ID == "" || h.Name == "" || h.Language != "golang" || words[0] != "graphrun" {
			t.Errorf("hook %+v", h)
		}
		if h.PassFilenames == nil || *h.PassFilenames {
			t.Errorf("hook %s passes names of files that may be no graphs", h.ID)
		}
		regexp.MustCompile(h.Files)
		folder := empty
		if words[1] == "test" {
			folder = filepath.Join("..", "..", "examples", "tool-loop")
		}
		if _, code := called(t, append(words[1:], folder)...); code != exitOK {
			t.Errorf("hook %s ends with %d", h.ID, code)
		}
	}
	var action struct {
		Name, Description string
		Inputs            map[string]struct{ Description, Default string }
		Runs              struct {
			Using string
			Steps []struct {
				Name, Uses, Run, Shell string
				Env                    map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(readRootFile(t, "action.yml"), &action); err != nil {
		t.Fatal(err)
	}
	if action.Runs.Using != "composite" || action.Description == "" {
		t.Errorf("action %+v", action)
	}
	scripts := 0
	for _, step := range action.Runs.Steps {
		if step.Run != "" && step.Shell == "" {
			t.Errorf("step %q has no shell", step.Name)
		}
		if strings.Contains(step.Run, "${{ inputs.") {
			t.Errorf("step %q puts an input into a script", step.Name)
		}
		for name, value := range step.Env {
			key := regexp.MustCompile(`inputs\.(\w+)`).FindStringSubmatch(value)
			if key != nil && action.Inputs[key[1]].Description == "" {
				t.Errorf("%s of step %q names no input: %s", name, step.Name, value)
			}
		}
		for _, script := range regexp.MustCompile(`packaging/\w+\.sh`).FindAllString(step.Run, -1) {
			scripts++
			readRootFile(t, script)
		}
	}
	if scripts != 2 {
		t.Errorf("the action calls %d scripts, want 2", scripts)
	}
}

// TestActionScript runs the script of the action with a program that prints its arguments.
func TestActionScript(t *testing.T) {
	program := filepath.Join(t.TempDir(), "graphrun")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf '[%s]' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, paths, args, strict, want string }{
		{"validate", ".", "", "false", "[validate][--format][github][--strict=false][--][.]"},
		{"validate", "a b\nc\n", "--rule\n-unused-key", "true", "[validate][--format][github][--strict=true][--rule][-unused-key][--][a b][c]"},
		{"test", "flows", "--min\n80", "false", "[test][--min][80][--][flows]"},
		{"run", "a flow.yaml", "", "false", "[run][--][a flow.yaml]"},
	} {
		cmd := exec.Command("bash", filepath.Join("..", "..", "packaging", "action.sh"), program)
		cmd.Env = append(os.Environ(), "COMMAND="+c.command, "PATHS="+c.paths, "ARGS="+c.args, "STRICT="+c.strict)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != c.want {
			t.Errorf("%s: %v, %s, want %s", c.command, err, out, c.want)
		}
	}
}

// TestOutputIsTheSameEachTime checks many files at once, again and again.
func TestOutputIsTheSameEachTime(t *testing.T) {
	folders := []string{"validate"}
	for _, name := range []string{"shadowed-edge", "missing-fallback", "duplicate-edge", "unknown-key"} {
		folders = append(folders, filepath.Join("..", "..", "testdata", "defects", name))
	}
	for _, format := range []string{"text", "sarif"} {
		first, code := called(t, append(folders, "--format", format)...)
		if code != exitInvalid || first == "" {
			t.Fatalf("code %d", code)
		}
		for range 10 {
			if again, _ := called(t, append(folders, "--format", format)...); again != first {
				t.Fatalf("the output differs:\n%s\n%s", first, again)
			}
		}
	}
}
