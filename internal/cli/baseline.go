// Baselines: findings that are known and not reported again, so that a project
// can begin to check without mending everything at once.

package cli

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
	"github.com/graphrun/graphrun/internal/settings"
	"github.com/graphrun/graphrun/spec"
)

// baselineFile is the file's form: entries sorted by file, rule, fingerprint.
type baselineFile struct {
	Version  int             `json:"version"`
	Findings []baselineEntry `json:"findings"`
}

// baselineEntry is Count findings that differ in nothing but their place. File
// is relative to the folder of the baseline, with slashes.
type baselineEntry struct {
	File        string `json:"file"`
	Rule        string `json:"rule"`
	Fingerprint string `json:"fingerprint"`
	Count       int    `json:"count"`
	Message     string `json:"message"`
}

type baselineKey struct{ file, rule, fingerprint string }

// baseline counts the findings that are known.
type baseline struct {
	folder string
	left   map[baselineKey]int
}

const baselineVersion = 1

// readBaseline reads a baseline file.
func readBaseline(path string) (*baseline, error) {
	src, err := bounded.ReadArgument(path, bounded.Text)
	if err != nil {
		return nil, usage(fmt.Errorf("baseline: %w", err))
	}
	var file baselineFile
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, usagef("baseline %s: %v", path, err)
	}
	if file.Version != baselineVersion {
		return nil, usagef("baseline %s has version %d; version %d is known", path, file.Version, baselineVersion)
	}
	b := &baseline{folder: filepath.Dir(path), left: map[baselineKey]int{}}
	for _, e := range file.Findings {
		b.left[baselineKey{e.File, e.Rule, e.Fingerprint}] += e.Count
	}
	return b, nil
}

// drop returns the findings that are not known. Each entry is used up by as
// many findings as it counts, so one more of the same is reported.
func (b *baseline) drop(found spec.Diagnostics) spec.Diagnostics {
	var out spec.Diagnostics
	for i := range found {
		key := b.keyOf(&found[i])
		if b.left[key] > 0 {
			b.left[key]--
			continue
		}
		out = append(out, found[i])
	}
	return out
}

// unused is how many known findings were not found in the files that were checked.
func (b *baseline) unused(checked []source) int {
	names := map[string]bool{}
	for _, s := range checked {
		names[settings.RelativeTo(b.folder, s.name)] = true
	}
	n := 0
	for key, left := range b.left {
		if names[key.file] {
			n += left
		}
	}
	return n
}

func (b *baseline) keyOf(d *spec.Diagnostic) baselineKey {
	return baselineKey{settings.RelativeTo(b.folder, d.File.Name), d.Rule, report.Fingerprint(d)}
}

// writeBaseline writes the findings as known ones.
func writeBaseline(path string, found spec.Diagnostics) error {
	b := baseline{folder: filepath.Dir(path)}
	file := baselineFile{Version: baselineVersion, Findings: []baselineEntry{}}
	at := map[baselineKey]int{}
	for i := range found {
		key := b.keyOf(&found[i])
		if k, ok := at[key]; ok {
			file.Findings[k].Count++
			continue
		}
		at[key] = len(file.Findings)
		file.Findings = append(file.Findings, baselineEntry{key.file, key.rule, key.fingerprint, 1, found[i].Message})
	}
	slices.SortFunc(file.Findings, func(a, b baselineEntry) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	var out bytes.Buffer
	if err := writeJSON(&out, file, true); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
