// Package report prints findings: as text with the source line and a caret, as JSON, SARIF,
// JUnit XML and GitHub workflow commands.
package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/lint"
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
	Rules []lint.Rule
	// Version is the version of graphrun.
	Version string
}

// writers print findings by the name of the format.
var writers = map[string]func(w io.Writer, f Findings, opts Options) error{
	"github": writeGitHub, "json": writeJSON, "junit": writeJUnit, "sarif": writeSARIF, "text": writeText,
}

// FormatNames lists the names of the formats, sorted.
func FormatNames() []string { return slices.Sorted(maps.Keys(writers)) }

// Write prints findings in the format of that name. It returns errors of the writer.
func Write(w io.Writer, format string, f Findings, opts Options) error {
	if write := writers[format]; write != nil {
		return write(w, f, opts)
	}
	return fmt.Errorf("unknown report format %q (allowed: %s)", format, strings.Join(FormatNames(), ", "))
}

// CountSeverities returns the number of errors and of warnings.
func CountSeverities(ds spec.Diagnostics) (errors, warnings int) {
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

type jsonReport struct {
	Files       int              `json:"files"`
	Errors      int              `json:"errors"`
	Warnings    int              `json:"warnings"`
	Diagnostics []jsonDiagnostic `json:"diagnostics"`
}

// jsonDiagnostic is a finding. Lines and columns (code points) start at 1; the end is exclusive.
type jsonDiagnostic struct {
	File       string        `json:"file"`
	Line       int           `json:"line"`
	Column     int           `json:"column"`
	EndLine    int           `json:"end_line"`
	EndColumn  int           `json:"end_column"`
	Severity   spec.Severity `json:"severity"`
	Rule       string        `json:"rule"`
	Message    string        `json:"message"`
	Suggestion *string       `json:"suggestion"`
}

// NewJSON returns the JSON form of findings in a number of files, for json.Marshal.
func NewJSON(files int, found spec.Diagnostics) any {
	out := jsonReport{Files: files, Diagnostics: make([]jsonDiagnostic, len(found))}
	out.Errors, out.Warnings = CountSeverities(found)
	for i := range found {
		d := &found[i]
		from, to := d.File.Position(d.Span.From), d.File.Position(d.Span.To)
		out.Diagnostics[i] = jsonDiagnostic{
			File: d.File.Name, Line: from.Line, Column: from.Column, EndLine: to.Line, EndColumn: to.Column,
			Severity: d.Severity, Rule: d.Rule, Message: d.Message,
		}
		if d.Suggestion != "" {
			out.Diagnostics[i].Suggestion = &d.Suggestion
		}
	}
	return out
}

func writeJSON(w io.Writer, f Findings, _ Options) error {
	return WriteIndented(w, NewJSON(f.Files, f.Diagnostics))
}

// WriteIndented prints a value as indented JSON. It does not escape characters such as <.
func WriteIndented(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func writeGitHub(w io.Writer, f Findings, _ Options) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	out := bufio.NewWriter(w)
	for _, d := range f.Diagnostics {
		from, to := d.File.Position(d.Span.From), d.File.Position(d.Span.To)
		command := d.Severity.String()
		if d.Severity == spec.Info {
			command = "notice"
		}
		fmt.Fprintf(out, "::%s file=%s,line=%d,col=%d,endLine=%d,endColumn=%d,title=%s::%s\n",
			command, property.Replace(d.File.Name), from.Line, from.Column, to.Line, to.Column,
			property.Replace(d.Rule), data.Replace(formatMessage(&d)))
	}
	return out.Flush()
}
