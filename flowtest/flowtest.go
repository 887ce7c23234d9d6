// Package flowtest tests flows: it runs the cases of test files on the machine that
// runs flows, by a virtual clock, with stubs in the place of what nodes do. What
// test files hold is in docs/testing.md.
//
// A Go program tests its flows, with node kinds of its own, like this:
//
//	func TestFlows(t *testing.T) {
//		flowtest.Test(t, flowtest.Config{Kinds: kinds}, "testdata/flows")
//	}
package flowtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// Config is what test files are read and run with. The zero value works.
type Config struct {
	// Kinds are node kinds besides graphrun's own.
	Kinds []runner.Kind
	// Real names kinds of Kinds that run as they are where a case has no stub for a
	// node: those that do nothing in the world.
	Real []string
	// Check checks a flow; nil: spec.Parse and spec.Check do.
	Check func(path string, src []byte) (*spec.Graph, spec.Diagnostics)
	// Run chooses the cases whose name matches; nil: all.
	Run *regexp.Regexp
	// Parallel is how many cases run at once; 0: one for each processor.
	Parallel int
	// FailFast stops at the first case that fails.
	FailFast bool
	// Update writes what happened into the test files, where a case expects update or
	// another exact path.
	Update bool
	// Limit is the longest that a case may take on the clock of the world; 0: one
	// minute.
	Limit time.Duration
}

// T is the part of *testing.T that Test uses.
type T[Self any] interface {
	Helper()
	Errorf(format string, args ...any)
	Run(name string, f func(t Self)) bool
}

// Test runs the test files of some paths as subtests: a file as it is, a folder
// searched for *.test.yaml. A case that fails fails its subtest, with the place of
// each expectation that does not hold. A file or flow that is not valid, and a path
// without a test, fail t.
func Test[Self T[Self]](t Self, cfg Config, paths ...string) {
	t.Helper()
	names, err := Find(paths...)
	if err == nil && len(names) == 0 {
		t.Errorf("no test file in %s", strings.Join(paths, ", "))
	}
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	for _, name := range names {
		file, found, err := Load(cfg, name)
		if err == nil && found.HasErrors() {
			err = &spec.InvalidError{Findings: found}
		}
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		report := Run(cfg, []*File{file})
		if cfg.Update {
			if _, err := Update(file, report); err != nil {
				t.Errorf("%v", err)
			}
		}
		for i := range report.Results {
			r := &report.Results[i]
			t.Run(r.Case, func(t Self) {
				t.Helper()
				if !r.Passed {
					t.Errorf("%s", r.Text())
				}
			})
		}
	}
}

// suffixes end the names of test files.
func suffixes() []string { return []string{".test.yaml", ".test.yml", ".test.json"} }

// IsTestFile reports whether a path names a test file.
func IsTestFile(path string) bool {
	return slices.ContainsFunc(suffixes(), func(end string) bool { return strings.HasSuffix(path, end) })
}

// Find lists the test files of some paths, each once, in order: files as they are,
// folders searched. Hidden folders and node_modules are skipped.
func Find(paths ...string) ([]string, error) {
	var out []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			out = append(out, path)
			continue
		}
		err = filepath.WalkDir(path, func(name string, entry os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && name != path && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
				return filepath.SkipDir
			case !entry.IsDir() && IsTestFile(name):
				out = append(out, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// flowOf is the flow that a test file is about, where it does not say so.
func flowOf(path string) string {
	for _, end := range suffixes() {
		if base, ok := strings.CutSuffix(path, end); ok {
			return base + end[len(".test"):]
		}
	}
	return path
}

func readFile(path string) ([]byte, error) { return bounded.ReadFile(path, bounded.Text) }
