// Results of test files.

package flowtest

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/runner"
)

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
	for i := range r.Failures {
		f := &r.Failures[i]
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
