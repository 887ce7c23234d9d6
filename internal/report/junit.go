// Findings as JUnit XML: a suite per file, a failed case per finding that counts.

package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/spec"
)

// JUnit is a report in the JUnit XML format, for test dashboards.
type JUnit struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr,omitempty"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []JUnitSuite `xml:"testsuite"`
}

// JUnitSuite holds the cases of one file. Name is the file's path.
type JUnitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []JUnitCase `xml:"testcase"`
}

// JUnitCase is one case. It passed if Failure is nil.
type JUnitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr,omitempty"`
	Failure *JUnitFailure `xml:"failure"`
	Output  string        `xml:"system-out,omitempty"`
}

// JUnitFailure says why a case failed: Message in one line, Text in full.
type JUnitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Add adds a case to the suite of its file, without the characters that XML can't hold.
func (r *JUnit) Add(file string, c JUnitCase) {
	file = terminal.Text(file)
	if n := len(r.Suites); n == 0 || r.Suites[n-1].Name != file {
		r.Suites = append(r.Suites, JUnitSuite{Name: file})
	}
	suite := &r.Suites[len(r.Suites)-1]
	c.Name, c.Class, c.File, c.Output = terminal.Text(c.Name), file, file, terminal.Text(c.Output)
	r.Tests, suite.Tests = r.Tests+1, suite.Tests+1
	if f := c.Failure; f != nil {
		f.Message, f.Text = terminal.Text(f.Message), terminal.Text(f.Text)
		r.Failures, suite.Failures = r.Failures+1, suite.Failures+1
	}
	suite.Cases = append(suite.Cases, c)
}

// Write prints the report.
func (r *JUnit) Write(w io.Writer) error {
	text, err := xml.MarshalIndent(r, "", "  ")
	if err == nil {
		_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	}
	return err
}

func writeJUnit(w io.Writer, f Findings, opts Options) error {
	out := JUnit{Name: "graphrun validate"}
	names, cases := slices.Clip(f.Names), map[string][]JUnitCase{}
	for i := range f.Diagnostics { // files that a graph includes may have findings of their own
		name := f.Diagnostics[i].File.Name
		if cases[name] = append(cases[name], newCase(&f.Diagnostics[i], opts.Strict)); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if cases[name] == nil {
			out.Add(name, JUnitCase{Name: "valid"})
		}
		for _, c := range cases[name] {
			out.Add(name, c)
		}
	}
	return out.Write(w)
}

// newCase returns the case of a finding. Warnings fail only with Strict, infos never.
func newCase(d *spec.Diagnostic, strict bool) JUnitCase {
	at := d.File.Position(d.Span.From)
	text := fmt.Sprintf("%s:%d:%d: %s: %s [%s]", d.File.Name, at.Line, at.Column, d.Severity, formatMessage(d), d.Rule)
	c := JUnitCase{Name: fmt.Sprintf("%s at %d:%d", d.Rule, at.Line, at.Column), Line: at.Line}
	if d.Severity == spec.Error || strict && d.Severity == spec.Warning {
		c.Failure = &JUnitFailure{Message: d.Message, Type: d.Rule, Text: text}
	} else {
		c.Output = text
	}
	return c
}
