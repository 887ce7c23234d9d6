package cli

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKept opens the stores and plays the recordings of earlier versions. Until the first
// release, a change of the schema replaces the store, in testdata/kept/v1:
//
//	graphrun run flow.yaml --run-id kept --store runs.db; gzip -9n runs.db
func TestKept(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("..", "..", "testdata", "kept", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			kept := unzipped(t, filepath.Join(dir, "runs.db.gz"))
			for _, c := range []struct {
				args []string
				want string
			}{
				{[]string{"runs", "list", "--store", kept}, "kept  kept   paused  6"},
				{[]string{"runs", "pending", "--store", kept}, "Go on?"},
				{[]string{"why", "kept", "--store", kept}, "draft"},
				{[]string{"answer", "kept", "ask=yes", "--resume", "-o", "json", "--store", kept}, `"status":"completed"`},
				{[]string{"runs", "show", "kept", "-o", "json", "--store", kept}, `"path":["draft","draft","draft","left","right","meet","ask"]`},
				{[]string{"replay", "kept", "--store", kept}, "kept"},
				{[]string{"run", filepath.Join(dir, "talk.yaml"), "--replay", filepath.Join(dir, "recording.jsonl"), "--store", "memory", "-o", "json"}, `"output":"spring tide"`},
			} {
				if out, code := called(t, c.args...); code != exitOK || !strings.Contains(out, c.want) {
					t.Errorf("%v ends with %d and says %s, want %s", c.args, code, out, c.want)
				}
			}
		})
	}
}

func unzipped(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "runs.db")
	if err := os.WriteFile(out, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}
