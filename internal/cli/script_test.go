package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphrun/graphrun/internal/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"graphrun": func() { os.Exit(Main(context.Background(), System())) },
	})
}

// TestScripts runs the sessions of testdata/script. Set UPDATE_SCRIPTS to
// rewrite their expected output, and review the difference.
func TestScripts(t *testing.T) {
	p := scripttest.Params()
	p.Dir = filepath.Join("..", "..", "testdata", "script")
	p.UpdateScripts = os.Getenv("UPDATE_SCRIPTS") != ""
	testscript.Run(t, p)
}
