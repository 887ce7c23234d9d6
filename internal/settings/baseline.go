// Baselines: findings that are known and not reported again, so that a project
// can begin to check without mending everything at once.

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

// baselineFile is the file's form: findings sorted by file, rule, fingerprint.
type baselineFile struct {
	Version  int             `json:"version"`
	Findings []baselineEntry `json:"findings"`
}

// knownFinding is a finding without its place. File is relative to the folder of the
// baseline, with slashes.
type knownFinding struct {
	File        string `json:"file"`
	Rule        string `json:"rule"`
	Fingerprint string `json:"fingerprint"`
}

// baselineEntry is Count findings that differ in nothing but their place.
type baselineEntry struct {
	knownFinding
	Count   int    `json:"count"`
	Message string `json:"message"`
}

const baselineVersion = 1

// Baseline counts the findings that are known.
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

// Drop returns the findings that are not known. Each entry is used up by as
// many findings as it counts, so one more of the same is reported.
func (b *Baseline) Drop(found spec.Diagnostics) spec.Diagnostics {
	var out spec.Diagnostics
	for i := range found {
		key := keyOf(b.folder, &found[i])
		if b.left[key]--; b.left[key] < 0 {
			out = append(out, found[i])
		}
	}
	return out
}

// Unused is how many known findings Drop has not met in the files of these names.
func (b *Baseline) Unused(names []string) int {
	n := 0
	for _, name := range names {
		file := RelativeTo(b.folder, name)
		for key, left := range b.left {
			if key.File == file {
				n += max(0, left)
			}
		}
	}
	return n
}

func keyOf(folder string, d *spec.Diagnostic) knownFinding {
	return knownFinding{RelativeTo(folder, d.File.Name), d.Rule, report.Fingerprint(d)}
}

// WriteBaseline writes the findings as known ones.
func WriteBaseline(path string, found spec.Diagnostics) error {
	file := baselineFile{Version: baselineVersion, Findings: []baselineEntry{}}
	at := map[knownFinding]int{}
	for i := range found {
		key := keyOf(filepath.Dir(path), &found[i])
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
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(file); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
