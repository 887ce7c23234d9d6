package serve

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestDescriptionLints checks the API description with Redocly's npm linter.
func TestDescriptionLints(t *testing.T) {
	web := os.Getenv("GRAPHRUN_TEST_WEB")
	if web == "" {
		t.Skip("GRAPHRUN_TEST_WEB does not name the folder web with its packages (.ci/browser makes them): no linter reads the description of the API")
	}
	s := newTested(t, nil)
	file := filepath.Join(s.dir, "openapi.json")
	if err := os.WriteFile(file, s.server.describe(), 0o600); err != nil {
		t.Fatal(err)
	}
	lint := exec.Command(filepath.Join(web, "node_modules", ".bin", "redocly"), "lint", "--extends", "recommended-strict", file)
	lint.Dir = s.dir
	lint.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
	if out, err := lint.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
