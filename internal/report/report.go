// Package report prints findings: as text with the source line and a caret, as JSON, SARIF,
// JUnit XML and GitHub workflow commands.
package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// Findings is the result of checking some files.
type Findings struct {
	// Files is the number of checked files, Names their names in order.
	Files int
	Names []string
	// Diagnostics are the findings in print order.
	Diagnostics spec.Diagnostics
}

// Options choose how to print findings. The zero value prints plain text.
type Options struct {
	// Color paints the text format with ANSI sequences.
	Color bool
	// Strict says that warnings count as errors.
	Strict bool
	// Rules describes the rules, for formats that contain their documentation.
	Rules []Rule
	// Version is the version of graphrun.
	Version string
}

// Rule describes a rule.
type Rule struct {
	Name     string
	Severity spec.Severity
	// Off says that the rule is off by default.
	Off bool
	// Summary is one line, Doc sentences; either may be empty.
	Summary, Doc string
}

// Format is an output format of findings.
type Format struct {
	// Name is the value of --format.
	Name string
	// Write prints the findings. It returns errors of the writer.
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

// count returns the numbers of errors and warnings.
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

type jsonReport struct {
	Files       int              `json:"files"`
	Errors      int              `json:"errors"`
	Warnings    int              `json:"warnings"`
	Diagnostics []jsonDiagnostic `json:"diagnostics"`
}

// jsonDiagnostic is the JSON of a finding. Lines and columns (in code points) start at 1; the
// end is exclusive.
type jsonDiagnostic struct {
	File       string  `json:"file"`
	Line       int     `json:"line"`
	Column     int     `json:"column"`
	EndLine    int     `json:"end_line"`
	EndColumn  int     `json:"end_column"`
	Severity   string  `json:"severity"`
	Rule       string  `json:"rule"`
	Message    string  `json:"message"`
	Suggestion *string `json:"suggestion"`
}

func writeJSON(w io.Writer, f Findings, _ Options) error {
	out := jsonReport{Files: f.Files, Diagnostics: make([]jsonDiagnostic, 0, len(f.Diagnostics))}
	out.Errors, out.Warnings = count(f.Diagnostics)
	for i := range f.Diagnostics {
		d := &f.Diagnostics[i]
		from, to := d.File.Position(d.Span.From), d.File.Position(d.Span.To)
		item := jsonDiagnostic{
			File: d.File.Name, Line: from.Line, Column: from.Column, EndLine: to.Line, EndColumn: to.Column,
			Severity: d.Severity.String(), Rule: d.Rule, Message: d.Message,
		}
		if d.Suggestion != "" {
			item.Suggestion = &d.Suggestion
		}
		out.Diagnostics = append(out.Diagnostics, item)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func writeGitHub(w io.Writer, f Findings, _ Options) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	out := bufio.NewWriter(w)
	for i := range f.Diagnostics {
		d := &f.Diagnostics[i]
		from, to := d.File.Position(d.Span.From), d.File.Position(d.Span.To)
		command := d.Severity.String()
		if d.Severity == spec.Info {
			command = "notice"
		}
		fmt.Fprintf(out, "::%s file=%s,line=%d,col=%d,endLine=%d,endColumn=%d,title=%s::%s\n",
			command, property.Replace(d.File.Name), from.Line, from.Column, to.Line, to.Column,
			property.Replace(d.Rule), data.Replace(withHint(d)))
	}
	return out.Flush()
}
