// Findings as one JSON object.

package report

import (
	"encoding/json"
	"io"
)

type jsonReport struct {
	Files       int              `json:"files"`
	Errors      int              `json:"errors"`
	Warnings    int              `json:"warnings"`
	Diagnostics []jsonDiagnostic `json:"diagnostics"`
}

// jsonDiagnostic has 1-based lines and columns (in code points); the end is
// the place after the last character.
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
