// Findings about a graph file.

package spec

import (
	"cmp"
	"slices"
)

// Severity is the severity of a finding. The zero value is unset.
type Severity int

// The severities. A file with an Error finding never runs. An Info finding says what could not be
// decided and never fails a command.
const (
	Error Severity = iota + 1
	Warning
	Info
)

// String returns the word for reports.
func (s Severity) String() string { return [...]string{"unset", "error", "warning", "info"}[s] }

// MarshalText returns the word for reports.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Diagnostic is a finding. Message names the problem, then what is allowed.
type Diagnostic struct {
	File     *File
	Rule     string // slug of the rule, such as "unknown-key"
	Severity Severity
	Span     Span
	Message  string
	// Suggestion is a replacement for the text at Span ("timeout" for "timout"), or "".
	Suggestion string
	Related    []Related
}

// Related is another position that explains a finding.
type Related struct {
	File    *File
	Span    Span
	Message string
}

// Diagnostics is a list of findings.
type Diagnostics []Diagnostic

// Locate moves findings about texts to the files of the texts, and relates them to the graph's references.
func (ds Diagnostics) Locate() {
	for i := range ds {
		d := &ds[i]
		for j := range d.Related {
			d.Related[j].File, d.Related[j].Span = d.Related[j].File.Locate(d.Related[j].Span)
		}
		host := d.File
		if d.File, d.Span = host.Locate(d.Span); d.File != host {
			d.Related = append(slices.Clip(d.Related), Related{File: host, Span: d.File.at, Message: "the graph takes the text in from here"})
		}
	}
}

// Sort locates findings (see Locate), sorts them by file name, position, rule and message, and drops repeats.
func (ds Diagnostics) Sort() Diagnostics {
	ds.Locate()
	slices.SortStableFunc(ds, compareDiagnostics)
	return slices.CompactFunc(ds, func(a, b Diagnostic) bool { return compareDiagnostics(a, b) == 0 })
}

func compareDiagnostics(a, b Diagnostic) int {
	return cmp.Or(
		cmp.Compare(a.File.Name, b.File.Name),
		cmp.Compare(a.Span.From, b.Span.From),
		cmp.Compare(a.Span.To, b.Span.To),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Message, b.Message),
	)
}

// Errors returns the findings that are errors.
func (ds Diagnostics) Errors() Diagnostics {
	return slices.DeleteFunc(slices.Clone(ds), func(d Diagnostic) bool { return d.Severity != Error })
}

// HasErrors reports whether any finding is an Error.
func (ds Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}
