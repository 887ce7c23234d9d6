package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/templates"
)

// Every template is written, is valid by the strictest rules, and runs as it is:
// to its end, or to a question whose first legal answer leads there.
func TestTemplates(t *testing.T) {
	names := templates.Names()
	if len(names) < 4 {
		t.Fatalf("templates are %q", names)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store := "--store=" + filepath.Join(dir, "runs.db")
			flow := filepath.Join(dir, templates.Flow)
			initiated := programRuns(t, exitOK, "init", name, "--dir", dir, "-o", "json")
			if !strings.Contains(initiated, templates.Flow) {
				t.Errorf("init says %s", initiated)
			}
			programRuns(t, exitUsage, "init", name, "--dir", dir)
			programRuns(t, exitOK, "validate", "--strict", dir)
			code, stdout, stderr := program("run", flow, store, "--run-id", "one", "--no-input", "-o", "json")
			for range 5 {
				if code != exitPaused {
					break
				}
				code, stdout, stderr = program(append([]string{"resume", "one", store, "-o", "json"}, firstAnswers(t, stdout)...)...)
			}
			if code != exitOK {
				t.Errorf("it ends with %d: %s%s", code, stdout, stderr)
			}
		})
	}
}

// firstAnswers returns --answer flags for the questions of a paused run.
func firstAnswers(t *testing.T, result string) []string {
	t.Helper()
	var paused struct {
		Pending []struct {
			Node   string
			Schema struct{ Enum []any }
		}
	}
	if err := json.Unmarshal([]byte(result), &paused); err != nil {
		t.Fatal(err)
	}
	var flags []string
	for _, p := range paused.Pending {
		answer := any("some text")
		if len(p.Schema.Enum) > 0 {
			answer = p.Schema.Enum[0]
		}
		flags = append(flags, "--answer", fmt.Sprintf("%s=%v", p.Node, answer))
	}
	return flags
}

// program runs the program in this process.
func program(args ...string) (code int, stdout, stderr string) {
	var out, said bytes.Buffer
	code = Main(context.Background(), Program{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said})
	return code, out.String(), said.String()
}

func programRuns(t *testing.T, want int, args ...string) string {
	t.Helper()
	code, stdout, stderr := program(args...)
	if code != want {
		t.Fatalf("graphrun %q ends with %d, want %d: %s%s", args, code, want, stdout, stderr)
	}
	return stdout
}
