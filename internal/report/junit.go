// Findings as JUnit XML, which test dashboards read: a suite for each file, a
// failed case for each finding that counts.

package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/spec"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr,omitempty"`
	Failure *junitFailure `xml:"failure"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func writeJUnit(w io.Writer, f Findings, opts Options) error {
	out := junitSuites{Name: "graphrun validate"}
	byFile := map[string][]*spec.Diagnostic{}
	names := slices.Clip(f.Names)
	for i := range f.Diagnostics {
		d := &f.Diagnostics[i]
		name := d.File.Name
		if len(byFile[name]) == 0 && !slices.Contains(f.Names, name) {
			names = append(names, name) // a text that a graph takes from it
		}
		byFile[name] = append(byFile[name], d)
	}
	for _, name := range names {
		suite := suiteOf(name, byFile[name], opts.Strict)
		out.Tests += suite.Tests
		out.Failures += suite.Failures
		out.Suites = append(out.Suites, suite)
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

// suiteOf has a case for each finding of a file, or one that passed. Warnings
// fail only when they count as errors, and what only informs never does.
func suiteOf(name string, found []*spec.Diagnostic, strict bool) junitSuite {
	suite := junitSuite{Name: visible(name)}
	for _, d := range found {
		at := d.File.Position(d.Span.From)
		text := fmt.Sprintf("%s:%d:%d: %s: %s [%s]", d.File.Name, at.Line, at.Column, d.Severity, withHint(d), d.Rule)
		c := junitCase{
			Name: fmt.Sprintf("%s at %d:%d", d.Rule, at.Line, at.Column), Class: visible(name), File: visible(name), Line: at.Line,
		}
		if d.Severity == spec.Error || strict && d.Severity == spec.Warning {
			c.Failure = &junitFailure{Message: visible(d.Message), Type: d.Rule, Text: visible(text)}
			suite.Failures++
		} else {
			c.Output = visible(text)
		}
		suite.Cases = append(suite.Cases, c)
	}
	if len(suite.Cases) == 0 {
		suite.Cases = []junitCase{{Name: "valid", Class: visible(name), File: visible(name)}}
	}
	suite.Tests = len(suite.Cases)
	return suite
}

// visible replaces what XML can't hold or a terminal would obey.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !terminal.Printable(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}
