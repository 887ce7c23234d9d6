// Findings as SARIF 2.1.0, which code hosts and editors read.

package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	InformationURI string      `json:"informationUri"`
	Version        string      `json:"version,omitempty"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string       `json:"id"`
	ShortDescription *sarifText   `json:"shortDescription,omitempty"`
	FullDescription  *sarifText   `json:"fullDescription,omitempty"`
	Help             *sarifText   `json:"help,omitempty"`
	HelpURI          string       `json:"helpUri,omitempty"`
	Configuration    *sarifConfig `json:"defaultConfiguration,omitempty"`
}

type sarifConfig struct {
	Enabled *bool  `json:"enabled,omitempty"`
	Level   string `json:"level"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Related      []sarifLocation   `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Fixes        []sarifFix        `json:"fixes,omitempty"`
}

type sarifLocation struct {
	ID       int           `json:"id,omitempty"`
	Physical sarifPhysical `json:"physicalLocation"`
	Message  *sarifText    `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

// sarifRegion is a region with 1-based lines and columns and an exclusive end.
type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndLine     int `json:"endLine"`
	EndColumn   int `json:"endColumn"`
}

type sarifFix struct {
	Description sarifText     `json:"description"`
	Changes     []sarifChange `json:"artifactChanges"`
}

type sarifChange struct {
	Artifact     sarifArtifact      `json:"artifactLocation"`
	Replacements []sarifReplacement `json:"replacements"`
}

type sarifReplacement struct {
	Deleted  sarifRegion `json:"deletedRegion"`
	Inserted *sarifText  `json:"insertedContent,omitempty"`
}

func writeSARIF(w io.Writer, f Findings, opts Options) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: make([]sarifResult, 0, len(f.Diagnostics))}
	run.Tool.Driver = sarifDriver{Name: "graphrun", InformationURI: home, Version: opts.Version, Rules: []sarifRule{}}
	index := map[string]int{}
	for _, r := range opts.Rules {
		index[r.Name] = len(run.Tool.Driver.Rules)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, describeRule(r))
	}
	for i := range f.Diagnostics {
		d := &f.Diagnostics[i]
		if _, ok := index[d.Rule]; !ok {
			index[d.Rule] = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: d.Rule})
		}
		run.Results = append(run.Results, resultOf(d, index[d.Rule]))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
}

// home is the address of the project.
const home = "https://github.com/graphrun/graphrun"

func describeRule(r Rule) sarifRule {
	out := sarifRule{ID: r.Name, HelpURI: home + "/blob/main/docs/reference/rules.md#" + r.Name}
	if r.Severity != 0 {
		out.Configuration = &sarifConfig{Level: level(r.Severity)}
		if r.Off {
			out.Configuration.Enabled = new(bool)
		}
	}
	if r.Summary != "" {
		out.ShortDescription = &sarifText{r.Summary}
	}
	if r.Doc != "" {
		out.FullDescription, out.Help = &sarifText{r.Doc}, &sarifText{r.Doc}
	}
	return out
}

func level(s spec.Severity) string {
	switch s {
	case spec.Error:
		return "error"
	case spec.Info:
		return "note"
	}
	return "warning"
}

func resultOf(d *spec.Diagnostic, rule int) sarifResult {
	out := sarifResult{
		RuleID: d.Rule, RuleIndex: rule, Level: level(d.Severity), Message: sarifText{withHint(d)},
		Locations:    []sarifLocation{{Physical: physical(d.File, d.Span)}},
		Fingerprints: map[string]string{"graphrun/v1": Fingerprint(d)},
	}
	for i, r := range d.Related {
		out.Related = append(out.Related, sarifLocation{
			ID: i + 1, Physical: physical(r.File, r.Span), Message: &sarifText{r.Message},
		})
	}
	if d.Suggestion != "" {
		place := physical(d.File, d.Span)
		out.Fixes = []sarifFix{{
			Description: sarifText{"write " + strconv.Quote(d.Suggestion)},
			Changes: []sarifChange{{Artifact: place.Artifact, Replacements: []sarifReplacement{{
				Deleted: place.Region, Inserted: &sarifText{d.Suggestion},
			}}}},
		}}
	}
	return out
}

func physical(f *spec.File, s spec.Span) sarifPhysical {
	from, to := f.Position(s.From), f.Position(s.To)
	return sarifPhysical{
		Artifact: sarifArtifact{fileURI(f.Name)},
		Region:   sarifRegion{from.Line, from.Column, to.Line, to.Column},
	}
}

// fileURI converts a path to a URI. Relative paths stay relative.
func fileURI(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	if name == "<stdin>" {
		return "stdin"
	}
	if strings.HasPrefix(name, "/") {
		return (&url.URL{Scheme: "file", Path: path.Clean(name)}).String()
	}
	return (&url.URL{Path: path.Clean(name)}).String()
}

// Fingerprint identifies a finding by its rule, its message and the text of
// its line, so that it stays the same when lines move.
func Fingerprint(d *spec.Diagnostic) string {
	line := d.File.Line(d.File.Position(d.Span.From).Line)
	sum := sha256.Sum256([]byte(d.Rule + "\x00" + d.Message + "\x00" + strings.Join(strings.Fields(line), " ")))
	return hex.EncodeToString(sum[:12])
}
