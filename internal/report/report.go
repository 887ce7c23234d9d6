// Package report prints findings about graph files: for people with the source
// line and a caret, and for machines as JSON, SARIF, JUnit XML and GitHub
// workflow commands.
package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// Findings is what a check of some files found.
type Findings struct {
	// Files is how many files were checked, and Names what they are called, in
	// order; reports by file have others only when there are findings about them.
	Files int
	Names []string
	// Diagnostics are the findings in the order to print them.
	Diagnostics spec.Diagnostics
}

// Options say how findings are printed. The zero value prints plain text.
type Options struct {
	// Color paints the text format with ANSI sequences.
	Color bool
	// Strict says that warnings count as errors.
	Strict bool
	// Rules describes the rules, for forms that carry their documentation.
	Rules []Rule
	// Version is that of the program.
	Version string
}

// Rule describes a rule of which findings may come.
type Rule struct {
	Name     string
	Severity spec.Severity
	// Off says that the rule is checked only when asked for.
	Off bool
	// Summary is one line, Doc sentences; either may be empty.
	Summary, Doc string
}

// Format is a way to print findings.
type Format struct {
	// Name is what --format calls it.
	Name string
	// Write prints the findings; its error is that of the writer.
	Write func(w io.Writer, f Findings, opts Options) error
}

// Formats lists the formats, sorted by name.
func Formats() []Format {
	return []Format{
		{Name: "github", Write: writeGitHub},
		{Name: "json", Write: writeJSON},
		{Name: "junit", Write: writeJUnit},
		{Name: "sarif", Write: writeSARIF},
		{Name: "text", Write: writeText},
	}
}

// count returns how many findings are errors and how many warnings. What only
// informs is no problem.
func count(ds spec.Diagnostics) (errors, warnings int) {
	for i := range ds {
		switch ds[i].Severity {
		case spec.Error:
			errors++
		case spec.Warning:
			warnings++
		}
	}
	return errors, warnings
}

// FormatNames lists the names of the formats, sorted.
func FormatNames() []string {
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

// Write prints findings in the format of that name.
func Write(w io.Writer, format string, f Findings, opts Options) error {
	for _, known := range Formats() {
		if known.Name == format {
			return known.Write(w, f, opts)
		}
	}
	return fmt.Errorf("%q is no report format (allowed: %s)", format, strings.Join(FormatNames(), ", "))
}
