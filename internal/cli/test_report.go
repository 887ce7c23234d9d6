// What tests came to, as text, JSON and JUnit XML.

package cli

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/spec"
)

// printTests prints a report in the form asked for.
func (a *app) printTests(f *testFlags, r *flowtest.Report) error {
	switch f.format.value {
	case "json":
		return writeJSON(a.Stdout, r, a.StdoutTerminal)
	case "junit":
		return writeTestsJUnit(a.Stdout, r)
	}
	return a.printTestText(f, r)
}

// printTestText prints one line a file, failing cases in full, then coverage.
func (a *app) printTestText(f *testFlags, r *flowtest.Report) error {
	c := runview.NewColors(a.colorOn(a.StdoutTerminal))
	var b strings.Builder
	for i := 0; i < len(r.Results); {
		j, failed := i, 0
		for j < len(r.Results) && r.Results[j].File == r.Results[i].File {
			if !r.Results[j].Passed {
				failed++
			}
			j++
		}
		head, tail := c.Good("ok  "), counted(j-i, "case")
		if failed > 0 {
			head, tail = c.Bad("FAIL"), fmt.Sprintf("%d of %s failed", failed, tail)
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", head, r.Results[i].File, c.Quiet(tail))
		for ; i < j; i++ {
			if result := &r.Results[i]; !result.Passed {
				b.WriteString(indented(result.Text()))
			} else if f.verbose {
				fmt.Fprintf(&b, "  ok    %s  %s\n", result.Case, c.Quiet(strings.Join(result.Path, " → ")))
			}
		}
	}
	for _, flow := range sortedKeys(r.Coverage) {
		writeCoverage(&b, flow, r.Coverage[flow], f.verbose)
	}
	if _, err := io.WriteString(a.Stdout, b.String()); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "%s: %d passed, %d failed\n", counted(r.Cases, "case"), r.Passed, r.Failed)
	return nil
}

func indented(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

// writeCoverage prints what was reached of a flow, and what was not.
func writeCoverage(b *strings.Builder, flow string, c *flowtest.Coverage, all bool) {
	fmt.Fprintf(b, "%s: nodes %s, edges %s, conditions %s, failures %s, loops %s\n", flow,
		share(c.Nodes.Covered, c.Nodes.Total), share(c.Edges.Covered, c.Edges.Total), share(c.Guards.Covered, c.Guards.Total),
		share(c.Failures.Covered, c.Failures.Total), share(c.Loops.Covered, c.Loops.Total))
	list := func(what string, names []string) {
		const most = 6
		if more := len(names) - most; more > 0 && !all {
			names = append(names[:most:most], fmt.Sprintf("%d more", more))
		}
		if len(names) > 0 {
			fmt.Fprintf(b, "  no case reaches %s: %s\n", what, strings.Join(names, ", "))
		}
	}
	list("the nodes", c.Nodes.Missing)
	list("the edges", c.Edges.Missing)
	if !all {
		return
	}
	var names []string
	for _, g := range c.Guards.Missing {
		names = append(names, fmt.Sprintf("%s %t", g.Edge, g.Value))
	}
	list("the conditions", names)
	names = nil
	for _, l := range c.Loops.Missing {
		names = append(names, l.Edge+" "+map[string]string{"0": "never", "1": "once", "many": "again and again"}[l.Taken])
	}
	list("the loops", names)
}

func share(covered, total int) string { return fmt.Sprintf("%d/%d", covered, total) }

// coverPage writes a page of the flow that was tested, painted with what its cases
// have reached.
func (a *app) coverPage(ctx context.Context, path string, files []*flowtest.File, r *flowtest.Report) error {
	if path == "" {
		return nil
	}
	if len(r.Coverage) != 1 {
		return usagef("--cover-html shows one flow, the tests are of %d: %s", len(r.Coverage), strings.Join(sortedKeys(r.Coverage), ", "))
	}
	g := files[0].Graph
	d := &drawn{graph: g, open: inspect.NewOpener(g, spec.Beside(g.File.Name))}
	d.drawing = render.Draw(g, render.Options{Trail: coverageTrail(r.Coverage[files[0].Flow], g), Open: d.open.Open})
	return writeFileWith(path, func(w io.Writer) error { return a.writePage(ctx, w, d) })
}

// writeFileWith makes a file of what write writes.
func writeFileWith(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

type junitTests struct {
	XMLName  xml.Name         `xml:"testsuites"`
	Tests    int              `xml:"tests,attr"`
	Failures int              `xml:"failures,attr"`
	Suites   []junitTestSuite `xml:"testsuite"`
}

type junitTestSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitTest `xml:"testcase"`
}

type junitTest struct {
	Name    string            `xml:"name,attr"`
	Class   string            `xml:"classname,attr"`
	File    string            `xml:"file,attr"`
	Line    int               `xml:"line,attr"`
	Failure *junitTestFailure `xml:"failure,omitempty"`
}

type junitTestFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",cdata"`
}

// xmlText is a text without what XML can't hold.
func xmlText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && !strings.ContainsRune("\n\r\t", r) || r == 0xFFFE || r == 0xFFFF {
			return utf8.RuneError
		}
		return r
	}, text)
}

// writeTestsJUnit prints a suite for each file.
func writeTestsJUnit(w io.Writer, r *flowtest.Report) error {
	out := junitTests{Tests: r.Cases, Failures: r.Failed}
	for i := range r.Results {
		result := &r.Results[i]
		if n := len(out.Suites); n == 0 || out.Suites[n-1].Name != result.File {
			out.Suites = append(out.Suites, junitTestSuite{Name: result.File})
		}
		suite := &out.Suites[len(out.Suites)-1]
		test := junitTest{Name: result.Case, Class: result.File, File: result.File, Line: result.Line}
		suite.Tests++
		if !result.Passed {
			suite.Failures++
			test.Failure = &junitTestFailure{Text: xmlText(result.Text())}
			if len(result.Failures) > 0 {
				f := &result.Failures[0]
				test.Failure.Message = fmt.Sprintf("%s:%d: %s", result.File, f.Line, f.Brief())
				if more := len(result.Failures) - 1; more > 0 {
					test.Failure.Message += fmt.Sprintf(" (and %d more)", more)
				}
			}
		}
		suite.Cases = append(suite.Cases, test)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
