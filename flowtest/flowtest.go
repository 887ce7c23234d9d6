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
	"fmt"
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
	// Kinds are node kinds in addition to graphrun's own.
	Kinds []runner.Kind
	// Real names kinds without effects. Their nodes run unless a case has a stub.
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
		for _, r := range report.Results {
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
func IsTestFile(path string) bool { return testEnding.Get().MatchString(path) }

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

// defaultFlow returns the default flow of a test file.
func defaultFlow(path string) string { return testEnding.Get().ReplaceAllString(path, "$1") }

func readFile(path string) ([]byte, error) { return bounded.ReadFile(path, bounded.Text) }

// Report holds the results of test files. Its JSON is a public contract.
type Report struct {
	Files  int `json:"files"`
	Cases  int `json:"cases"`
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	// Results are in the order of the files and of the cases in them.
	Results []Result `json:"results"`
	// Coverage is by flow.
	Coverage map[string]*Coverage `json:"coverage"`
}

// Result is the result of a case.
type Result struct {
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Case     string    `json:"case"`
	Passed   bool      `json:"passed"`
	Failures []Failure `json:"failures"`
	Status   string    `json:"status"`
	Path     []string  `json:"path"`
	Steps    int       `json:"steps"`

	c       *Case
	hits    *hits
	got     *runner.Result
	trace   []string
	resumed int // how often the run was resumed
}

// Failure is a failed expectation, or the reason why the case did not run.
type Failure struct {
	// What names the expectation: path, state.n, where; or stub, run.
	What string `json:"what"`
	// Line is the line in the test file, from 1.
	Line int `json:"line"`
	Want any `json:"want"`
	Got  any `json:"got"`
}

func (r *Report) addResult(f *File, result *Result) {
	r.Cases++
	if result.Passed {
		r.Passed++
	} else {
		r.Failed++
	}
	r.Results = append(r.Results, *result)
	c := r.Coverage[f.Flow]
	if c == nil {
		c = newCoverage(f.Graph)
		r.Coverage[f.Flow] = c
	}
	c.addRun(result.hits)
}

// Text writes a case for a person: the failures, and the trace.
func (r *Result) Text() string {
	var b strings.Builder
	word := "FAIL"
	if r.Passed {
		word = "ok  "
	}
	fmt.Fprintf(&b, "%s  %s:%d: %s\n", word, r.File, r.Line, r.Case)
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "  %s:%d: %s\n", r.File, f.Line, f.What)
		if f.Want == nil {
			fmt.Fprintf(&b, "    %s\n", formatValue(f.Got))
			continue
		}
		lines := f.diff()
		if lines == nil {
			lines = []string{"want " + formatValue(f.Want), "got  " + formatValue(f.Got)}
		}
		for _, line := range lines {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	if !r.Passed && len(r.trace) > 0 {
		b.WriteString("  what happened:\n")
		for _, line := range r.trace {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}

// diff compares the wanted with the actual value line by line. It returns nil for short values.
func (f *Failure) diff() []string {
	path, _ := f.Got.([]string)
	want, isPath := f.Want.([]string)
	switch {
	case f.What == "path.starts" && isPath:
		return diffValues(want, path[:min(len(want), len(path))])
	case f.What == "path.ends" && isPath:
		return diffValues(want, path[max(0, len(path)-len(want)):])
	case strings.HasPrefix(f.What, "path."): // the other forms concern some of the names
		return nil
	case isPath:
		return diffValues(want, path)
	}
	return diffValues(alignValue(f.Want, f.Got, f.What != "state_exactly"), f.Got)
}

// Brief describes the failure in one line.
func (f *Failure) Brief() string {
	if f.Want == nil {
		return f.What + ": " + shorten(formatValue(f.Got))
	}
	return f.What + ": want " + shorten(formatValue(f.Want)) + ", got " + shorten(formatValue(f.Got))
}
