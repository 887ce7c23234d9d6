// The dry run: the real machine with made-up values, and what each step would do.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/virtual"
	"github.com/graphrun/graphrun/spec"
)

// dryRunReport is what a dry run prints as JSON: a run's object, and its plan.
type dryRunReport struct {
	*runner.Result
	DryRun bool                `json:"dry_run"`
	Plan   []*flowtest.Planned `json:"plan"`
}

// dryRun runs a flow with made-up values and prints what each step would do.
func (a *app) dryRun(ctx context.Context, g *spec.Graph, opts runner.Options, f *runFlags) error {
	stubs, err := readStubs(f.stubs)
	if err != nil {
		return err
	}
	opts.History = f.history
	if opts.Clock = a.clock; opts.Clock == nil {
		opts.Clock = virtual.NewClock(time.Now())
	}
	result, steps, err := flowtest.DryRun(ctx, flowtest.Config{}, g, opts, stubs, f.stubs)
	var invalid *runner.InvalidError
	if errors.As(err, &invalid) {
		return a.invalid(invalid.Diagnostics)
	}
	if err != nil {
		return err
	}
	if f.output.value != "text" {
		return writeJSON(a.Stdout, dryRunReport{result, true, steps}, f.output.value == "json" && a.StdoutTerminal)
	}
	var b strings.Builder
	for _, p := range steps {
		b.WriteString(p.Text())
	}
	if _, err := io.WriteString(a.Stdout, b.String()); err != nil {
		return err
	}
	for _, line := range summary(result, runview.NewColors(a.colorOn(a.StderrTerminal))) {
		fmt.Fprintln(a.Stderr, line)
	}
	fmt.Fprintln(a.Stderr, "a dry run: nothing was executed, sent or stored, and outputs were made up")
	return nil
}

// readStubs reads a file of stubs: a map of them by node, or one with the key stubs,
// as a case has it.
func readStubs(path string) (*spec.Value, error) {
	if path == "" {
		return nil, nil
	}
	src, err := bounded.ReadArgument(path, bounded.Text)
	if err != nil {
		return nil, usagef("--stubs: %w", err)
	}
	stubs, found := flowtest.ReadStubs(path, src)
	if found.HasErrors() {
		return nil, usagef("--stubs: %w", &spec.InvalidError{Findings: found})
	}
	return stubs, nil
}
