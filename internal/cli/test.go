// The test command: run, generate and check test cases.

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/spec"
)

type testFlags struct {
	format    enum
	cfg       flowtest.Config
	run       string
	min       float64
	lcov      string
	html      string
	keepGoing bool
	watch     bool
	verbose   bool
	generate  bool
	write     bool
	mutate    bool
	minScore  float64
}

func newTestCommand(a *app) *cobra.Command {
	f := testFlags{format: newEnum("text", "json", "junit", "text")}
	cmd := &cobra.Command{
		Use:               "test [PATH...]",
		ValidArgsFunction: completeFiles,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.runTests(cmd.Context(), cmd, &f, args) },
	}
	flags := cmd.Flags()
	addEnumFlag(cmd, flags, &f.format, "format", "", "report format")
	addEnumFlag(cmd, flags, &f.format, "output", "o", "the same as --format")
	flags.StringVar(&f.run, "run", "", "REGEXP that the names of the cases to run match")
	flags.BoolVar(&f.cfg.Update, "update", false, "write the actual path and state into cases that expect update or another exact path")
	flags.Float64Var(&f.min, "min", 0, "minimum `PERCENT` of each flow's edges that its cases must reach")
	flags.StringVar(&f.lcov, "lcov", "", "`FILE` to write the reached lines to, in LCOV format")
	flags.StringVar(&f.html, "cover-html", "", "`FILE` to write a page of the flow to, with its coverage")
	flags.IntVar(&f.cfg.Parallel, "parallel", 0, "maximum number of cases to run at once (default: one per processor)")
	flags.BoolVar(&f.keepGoing, "keep-going", true, "continue after a failed case")
	flags.BoolVar(&f.watch, "watch", false, "run again whenever a test file or a flow changes, until interrupted")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show every case")
	flags.BoolVar(&f.generate, "generate", false, "write cases that fire every edge of the flow that can fire")
	flags.BoolVarP(&f.write, "write", "w", false, "with --generate: write to a file beside the flow, not to stdout")
	flags.BoolVar(&f.mutate, "mutate", false, "change the flows in one place at a time and report the changes that no case notices")
	flags.Float64Var(&f.minScore, "min-score", 0, "minimum `PERCENT` of the changes of --mutate that the cases must notice")
	markSettings(flags, "format", "min", "min-score", "parallel", "keep-going")
	return cmd
}

// runTests runs the tests once, or on every change with --watch.
func (a *app) runTests(ctx context.Context, cmd *cobra.Command, f *testFlags, args []string) error {
	if err := f.checkValues(cmd); err != nil {
		return err
	}
	f.cfg.Check = func(path string, src []byte) (*spec.Graph, spec.Diagnostics) { return a.checkFlow(path, src) }
	if len(args) == 0 {
		args = []string{"."}
	}
	if f.generate {
		return a.generateTests(ctx, f, args)
	}
	if f.watch {
		return a.watchTests(ctx, f, args)
	}
	if err := rejectFlows(args); err != nil {
		return err
	}
	return a.runTestsOnce(ctx, f, args)
}

// rejectFlows returns an error if an argument is a flow instead of a test file.
func rejectFlows(args []string) error {
	for _, path := range args {
		src, err := bounded.ReadFile(path, bounded.Text)
		if err != nil || flowtest.IsTestFile(path) || isTestText(src) || !spec.IsGraph(src) {
			continue
		}
		tests := strings.TrimSuffix(path, filepath.Ext(path)) + ".test.yaml"
		if _, err := os.Stat(tests); err == nil {
			return usagef("%s is a flow; its tests stand in %s: graphrun test %s", path, tests, tests)
		}
		return usagef("%s is a flow; its tests stand in %s: graphrun test --generate -w %s writes some", path, tests, path)
	}
	return nil
}

func (f *testFlags) checkValues(cmd *cobra.Command) (err error) {
	f.cfg.FailFast = !f.keepGoing
	switch {
	case cmd.Flags().Changed("parallel") && f.cfg.Parallel < 1:
		return usagef("--parallel %d: must be at least 1", f.cfg.Parallel)
	case f.min < 0 || f.min > 100:
		return usagef("--min %v: must be from 0 to 100", f.min)
	case f.mutate && f.format.value == "junit":
		return usagef("--mutate reports in the forms text and json")
	case f.run != "":
		if f.cfg.Run, err = regexp.Compile(f.run); err != nil {
			return usagef("--run %q: %w", f.run, err)
		}
	}
	return nil
}

// runTestsOnce runs the tests of some paths and prints the report.
func (a *app) runTestsOnce(ctx context.Context, f *testFlags, args []string) error {
	names, left, err := a.findFiles(args, flowtest.IsTestFile)
	switch {
	case err != nil:
		return err
	case len(names) == 0 && len(left) > 0:
		return usagef("no test found in %s: .gitignore or exclude leaves out %s; name a file to run it all the same", strings.Join(args, ", "), formatNames(left))
	case len(names) == 0:
		return usagef("no test found in %s: a test file's name ends in .test.yaml", strings.Join(args, ", "))
	}
	files, found, err := loadTests(f.cfg, names)
	if err != nil {
		return asUsageError(err)
	}
	if found.HasErrors() {
		return a.reportInvalid(found)
	}
	if f.mutate {
		return a.mutateTests(f, files)
	}
	result := flowtest.Run(f.cfg, files)
	if result.Cases == 0 {
		return usagef("no case matches --run %q", f.run)
	}
	if f.cfg.Update {
		if result, err = a.updateTests(f.cfg, names, files, result); err != nil {
			return err
		}
	}
	if f.lcov != "" {
		err = writeFileWith(f.lcov, func(w io.Writer) error { return flowtest.WriteLCOV(w, result) })
	}
	if err == nil && f.html != "" {
		err = a.writeCoverPage(ctx, f.html, files, result)
	}
	if err == nil {
		err = a.printTests(f, result)
	}
	if err != nil {
		return err
	}
	if short := a.reportLowCoverage(f, result); short || result.Failed > 0 {
		return exitWith(exitFailed)
	}
	return nil
}

func loadTests(cfg flowtest.Config, names []string) (files []*flowtest.File, found spec.Diagnostics, err error) {
	for _, name := range names {
		file, own, err := flowtest.Load(cfg, name)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, own...)
		if file != nil {
			files = append(files, file)
		}
	}
	// Several test files may report the same finding of a flow.
	return files, slices.CompactFunc(found.Sort(), func(a, b spec.Diagnostic) bool {
		return a.File.Name == b.File.Name && a.Span == b.Span && a.Rule == b.Rule && a.Message == b.Message
	}), nil
}

// updateTests rewrites cases with actual results and runs the changed files again.
func (a *app) updateTests(cfg flowtest.Config, names []string, files []*flowtest.File, result *flowtest.Report) (*flowtest.Report, error) {
	changed := 0
	for _, file := range files {
		n, err := flowtest.Update(file, result)
		if err != nil {
			return nil, asUsageError(err)
		}
		if changed += n; n > 0 {
			fmt.Fprintf(a.Stderr, "%s: %s updated\n", file.Name, eval.Count(n, "case"))
		}
	}
	if changed == 0 {
		return result, nil
	}
	files, found, err := loadTests(cfg, names)
	if err == nil && found.HasErrors() {
		err = &spec.InvalidError{Findings: found}
	}
	if err != nil {
		return nil, err
	}
	return flowtest.Run(cfg, files), nil
}

// reportLowCoverage prints the flows below the minimum coverage, and reports whether there are any.
func (a *app) reportLowCoverage(f *testFlags, r *flowtest.Report) bool {
	short := false
	for _, flow := range slices.Sorted(maps.Keys(r.Coverage)) {
		if got := r.Coverage[flow].Edges.Percent(); got < f.min {
			short = true
			fmt.Fprintf(a.Stderr, "graphrun: %s: %v %% of its edges are reached, --min asks for %v %%\n", flow, got, f.min)
		}
	}
	return short
}

// watchEvery is the interval at which files are polled.
const watchEvery = 300 * time.Millisecond

// watchTests runs the tests whenever files have changed.
func (a *app) watchTests(ctx context.Context, f *testFlags, args []string) error {
	ctx, stop := a.cancelOnInterrupt(ctx)
	defer stop()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	before := ""
	for {
		if now := a.fingerprintFiles(args); now != before {
			before = now
			if err := a.runTestsOnce(ctx, f, args); err != nil && findExitCode(err) != exitFailed {
				a.printError(err)
			}
			before = a.fingerprintFiles(args) // --update may have written
			fmt.Fprintln(a.Stderr, "waiting for changes; interrupt to end")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// fingerprintFiles returns a text that changes when a file in the folders of the tests changes.
func (a *app) fingerprintFiles(paths []string) string {
	folders := slices.Clone(paths)
	for i, path := range folders {
		if flowtest.IsTestFile(path) {
			folders[i] = filepath.Dir(path)
		}
	}
	names, _, _ := a.findFiles(folders, isGraphName) // the run reports errors
	var b strings.Builder
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

func (a *app) generateTests(ctx context.Context, f *testFlags, args []string) error {
	if len(args) != 1 || flowtest.IsTestFile(args[0]) {
		return usagef("test --generate needs the path of one graph file")
	}
	flow := args[0]
	g, err := a.loadFlow(flow)
	if err != nil {
		return err
	}
	made, err := flowtest.Generate(ctx, f.cfg, g, "")
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
	fmt.Fprintf(a.Stderr, "%s %s %d of %d edges\n", eval.Count(made.Cases, "case"), covers, made.Edges, made.Total)
	if made.Cases == 0 {
		for _, line := range made.NoValue {
			fmt.Fprintln(a.Stderr, line)
		}
		fmt.Fprintln(a.Stderr, "no test file was written; write the first case by hand, with a valid input")
		return exitWith(exitFailed)
	}
	if !f.write {
		_, err = io.WriteString(a.Stdout, made.Text)
		return err
	}
	path := trimExt(flow) + ".test.yaml"
	err = writeNewFile(path, []byte(made.Text))
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s is there already; without -w the cases are printed", path)
	}
	return err
}

// mutateTests runs the tests on mutants of their flows and reports the surviving ones.
func (a *app) mutateTests(f *testFlags, files []*flowtest.File) error {
	if base := flowtest.Run(f.cfg, files); base.Failed > 0 {
		if err := a.printTests(f, base); err != nil {
			return err
		}
		fmt.Fprintln(a.Stderr, "graphrun: the cases fail as the flows are; nothing was changed")
		return exitWith(exitFailed)
	}
	m, err := flowtest.Mutate(f.cfg, files)
	if err != nil {
		return asUsageError(err)
	}
	if f.format.value == "text" {
		var b strings.Builder
		for _, s := range m.Survivors {
			fmt.Fprintf(&b, "%s:%d: no case notices that %s\n", s.File, s.Line, s.What)
		}
		fmt.Fprintf(&b, "%d of %s noticed, %d that no input can tell apart; score %v %%\n", m.Killed, eval.Count(m.Mutants, "change"), m.Equivalent, m.Score)
		_, err = io.WriteString(a.Stdout, b.String())
	} else {
		err = writeJSON(a.Stdout, m, a.StdoutTerminal)
	}
	if err != nil {
		return err
	}
	if m.Score < f.minScore {
		fmt.Fprintf(a.Stderr, "graphrun: the score is %v %%, --min-score asks for %v %%\n", m.Score, f.minScore)
		return exitWith(exitFailed)
	}
	return nil
}

func (a *app) printTests(f *testFlags, r *flowtest.Report) error {
	switch f.format.value {
	case "json":
		return writeJSON(a.Stdout, r, a.StdoutTerminal)
	case "junit":
		return writeTestsJUnit(a.Stdout, r)
	}
	if _, err := io.WriteString(a.Stdout, runview.FormatTests(r, f.verbose, a.newStdoutColors())); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "%s: %d passed, %d failed\n", eval.Count(r.Cases, "case"), r.Passed, r.Failed)
	return nil
}

// writeCoverPage writes a page of the tested flow, painted with its coverage.
func (a *app) writeCoverPage(ctx context.Context, path string, files []*flowtest.File, r *flowtest.Report) error {
	if len(r.Coverage) != 1 {
		return usagef("--cover-html shows one flow, the tests are of %d: %s", len(r.Coverage), strings.Join(slices.Sorted(maps.Keys(r.Coverage)), ", "))
	}
	g := files[0].Graph
	d := &drawnFlow{graph: g, open: inspect.NewOpener(g, spec.NewLoader(g.File.Name))}
	d.drawing = render.Draw(g, render.Options{Trail: newCoverageTrail(r.Coverage[files[0].Flow], g), Open: d.open.Open})
	return writeFileWith(path, func(w io.Writer) error { return a.writePage(ctx, w, d, "") })
}

// writeFileWith creates a file and fills it by calling write.
func writeFileWith(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return asUsageError(os.WriteFile(path, b.Bytes(), 0o666))
}

// writeTestsJUnit prints JUnit XML with a suite per file.
func writeTestsJUnit(w io.Writer, r *flowtest.Report) error {
	var out report.JUnit
	for _, result := range r.Results {
		test := report.JUnitCase{Name: result.Case, Line: result.Line}
		if !result.Passed {
			test.Failure = &report.JUnitFailure{Text: result.Text()}
			if len(result.Failures) > 0 {
				f := &result.Failures[0]
				test.Failure.Message = fmt.Sprintf("%s:%d: %s", result.File, f.Line, f.Brief())
				if more := len(result.Failures) - 1; more > 0 {
					test.Failure.Message += fmt.Sprintf(" (and %d more)", more)
				}
			}
		}
		out.Add(result.File, test)
	}
	return out.Write(w)
}
