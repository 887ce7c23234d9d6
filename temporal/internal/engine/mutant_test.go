package engine

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a change of one line of the core, and a recorded history that must notice it.
type mutant struct{ file, code, instead, history string }

func mutants() map[string]mutant {
	return map[string]mutant{
		"edges":   {"route.go", "if !match {", "if match {", "loop"},
		"retries": {"retry.go", "if used+1 >= r.MaxAttempts ||", "if used+2 >= r.MaxAttempts ||", "branches"},
	}
}

// TestReplayNoticesTheCore: replaying recorded histories fails with a core that decides
// differently.
func TestReplayNoticesTheCore(t *testing.T) {
	if os.Getenv("GRAPHRUN_TEST_MUTANTS") == "" {
		t.Skip("GRAPHRUN_TEST_MUTANTS is not set; .ci/temporal sets it")
	}
	for name, m := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			binary := buildMutant(t, dir, &m)
			run := exec.Command(binary, "-test.run", "^TestReplay$/^"+m.history+"$")
			out, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "TMPRL1100") {
				t.Errorf("%q instead of %q passes the replay: %v\n%s", m.instead, m.code, err, out)
			}
		})
	}
}

// buildMutant builds the tests of this package over a mutant, whose file it writes to dir.
func buildMutant(t *testing.T, dir string, m *mutant) (binary string) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "..", "..", "runner", "machine", m.file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.code); n != 1 {
		t.Fatalf("%s has %d times %q, want it once: name another decision", m.file, n, m.code)
	}
	changed, overlay := filepath.Join(dir, m.file), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), m.code, m.instead, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "mutant.test")
	if out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}
