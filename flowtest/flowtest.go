// Package flowtest runs the cases of test files on the machine that runs flows, with a virtual
// clock and stubs for the effects of nodes. docs/testing.md describes test files.
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

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// Config configures how test files are read and run. The zero value works.
type Config struct {
	// Kinds are node kinds besides graphrun's own.
	Kinds []runner.Kind
	// Real names kinds without effects. Their nodes run where a case has no stub.
	Real []string
	// Check parses and checks a flow; the default is spec.Parse and spec.Check.
	Check func(path string, src []byte) (*spec.Graph, spec.Diagnostics)
	// Run chooses cases by name; the default is all.
	Run *regexp.Regexp
	// Parallel is how many cases run at once; the default is one per processor.
	Parallel int
	// FailFast stops at the first case that fails.
	FailFast bool
	// Update writes actual results into the test files (see Update).
	Update bool
}

// T is the part of *testing.T that Test uses.
type T[Self any] interface {
	Helper()
	Errorf(format string, args ...any)
	Run(name string, f func(t Self)) bool
}

// Test runs test files, and those in folders, as subtests. A failing case fails its subtest and
// names each failed expectation. An invalid file or flow, or a path without a test, fails t.
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

// testEnding matches the ending of a test file.
var testEnding = lazyregexp.New(`\.test(\.ya?ml|\.json)$`)

// IsTestFile reports whether a path names a test file.
func IsTestFile(path string) bool { return testEnding().MatchString(path) }

// Find lists test files, each once and sorted. It skips hidden folders and node_modules.
func Find(paths ...string) ([]string, error) {
	var out []string
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, entry os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && name != path && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
				return filepath.SkipDir
			case !entry.IsDir() && (name == path || IsTestFile(name)):
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

// flowOf returns the default flow of a test file.
func flowOf(path string) string { return testEnding().ReplaceAllString(path, "$1") }

func readFile(path string) ([]byte, error) { return bounded.ReadFile(path, bounded.Text) }
