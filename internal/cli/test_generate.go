// test --generate: cases for a flow that has none.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/runner"
)

// generateTests writes cases for a flow.
func (a *app) generateTests(ctx context.Context, f *testFlags, cfg flowtest.Config, args []string) error {
	if len(args) != 1 || flowtest.IsTestFile(args[0]) {
		return usagef("test --generate needs the path of one graph file")
	}
	flow := args[0]
	g, err := a.loadFlow(flow)
	if err != nil {
		return err
	}
	made, err := flowtest.Generate(ctx, cfg, g, "")
	var invalid *runner.InvalidError
	if errors.As(err, &invalid) {
		return a.invalid(invalid.Diagnostics)
	}
	if err != nil {
		return err
	}
	for _, line := range made.Missing {
		fmt.Fprintf(a.Stderr, "no case covers %s\n", line)
	}
	covers := "cover"
	if made.Cases == 1 {
		covers = "covers"
	}
	fmt.Fprintf(a.Stderr, "%s %s %d of %d edges\n", counted(made.Cases, "case"), covers, made.Edges, made.Total)
	if made.Cases == 0 {
		for _, line := range made.NoValue {
			fmt.Fprintln(a.Stderr, line)
		}
		fmt.Fprintln(a.Stderr, "no test file was written; write the first case by hand, with a valid input")
		return silent(exitFailed)
	}
	if !f.write {
		_, err = io.WriteString(a.Stdout, made.Text)
		return err
	}
	ext := filepath.Ext(flow)
	path := strings.TrimSuffix(flow, ext) + ".test.yaml"
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s is there already; without -w the cases are printed", path)
	}
	if err != nil {
		return usage(err)
	}
	_, err = io.WriteString(file, made.Text)
	return errors.Join(err, file.Close())
}
