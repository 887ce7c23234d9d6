// Baselines hold known findings, which are not reported again, so that a project can start to use
// validate without fixing everything first.

package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/spec"
)

// baselineFile is the JSON of a baseline, sorted by file, rule and fingerprint.
type baselineFile struct {
	Version  int             `json:"version"`
	Findings []baselineEntry `json:"findings"`
}

// knownFinding is a finding without its position. File is relative to the baseline's folder.
type knownFinding struct {
	File        string `json:"file"`
	Rule        string `json:"rule"`
	Fingerprint string `json:"fingerprint"`
}

// baselineEntry counts findings that differ only in position.
type baselineEntry struct {
	knownFinding
	Count   int    `json:"count"`
	Message string `json:"message"`
}

const baselineVersion = 1

// Baseline counts known findings.
type Baseline struct {
	folder string
	left   map[knownFinding]int
}

// ReadBaseline reads a baseline file.
func ReadBaseline(path string) (*Baseline, error) {
	src, err := bounded.ReadArgument(path, bounded.Text)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	var file baselineFile
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, fmt.Errorf("baseline %s: %w", path, err)
	}
	if file.Version != baselineVersion {
		return nil, fmt.Errorf("baseline %s has version %d; version %d is known", path, file.Version, baselineVersion)
	}
	b := &Baseline{folder: filepath.Dir(path), left: map[knownFinding]int{}}
	for _, e := range file.Findings {
		b.left[e.knownFinding] += e.Count
	}
	return b, nil
}

// SelectNew returns the findings that the baseline does not cover. Each entry covers as many
// findings as it counts.
func (b *Baseline) SelectNew(found spec.Diagnostics) spec.Diagnostics {
	var out spec.Diagnostics
	for i := range found {
		key := newKnownFinding(b.folder, &found[i])
		if b.left[key]--; b.left[key] < 0 {
			out = append(out, found[i])
		}
	}
	return out
}

// CountUnused counts the known findings of some files that SelectNew did not find.
func (b *Baseline) CountUnused(names []string) int {
	n := 0
	for _, name := range names {
		file := relativeTo(b.folder, name)
		for key, left := range b.left {
			if key.File == file {
				n += max(0, left)
			}
		}
	}
	return n
}

func newKnownFinding(folder string, d *spec.Diagnostic) knownFinding {
	return knownFinding{relativeTo(folder, d.File.Name), d.Rule, report.Fingerprint(d)}
}

// WriteBaseline writes findings as a baseline.
func WriteBaseline(path string, found spec.Diagnostics) error {
	file := baselineFile{Version: baselineVersion, Findings: []baselineEntry{}}
	at := map[knownFinding]int{}
	for i := range found {
		key := newKnownFinding(filepath.Dir(path), &found[i])
		if k, ok := at[key]; ok {
			file.Findings[k].Count++
			continue
		}
		at[key] = len(file.Findings)
		file.Findings = append(file.Findings, baselineEntry{key, 1, found[i].Message})
	}
	slices.SortFunc(file.Findings, func(a, b baselineEntry) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	var out bytes.Buffer
	if err := report.WriteIndented(&out, file); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
