// Severities from graphrun.yaml: `rules:` for all files and `paths:` for some.
//
//	rules:
//	  unused-key: off            off, info, warning or error
//	paths:
//	  legacy/**:                 relative to the folder of graphrun.yaml
//	    missing-timeout: off

package settings

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-pkgs/gitignore"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// severities maps rules to spec.Error, spec.Warning, spec.Info, or 0 for off.
type severities map[string]spec.Severity

// Rules are the severities of a settings file. Entries of byPath override earlier ones and
// everywhere.
type Rules struct {
	Folder     string // of the settings file
	everywhere severities
	byPath     []pathSeverities
	Exclude    Excludes
}

type pathSeverities struct {
	pattern    string
	severities severities
}

// severityIn returns the severity of a rule in a file. own is its default.
func (r *Rules) severityIn(file, rule string, own spec.Severity) spec.Severity {
	if s, ok := r.everywhere[rule]; ok {
		own = s
	}
	if len(r.byPath) == 0 {
		return own
	}
	name := RelativeTo(r.Folder, file)
	for _, p := range r.byPath {
		if s, has := p.severities[rule]; has && matchPath(p.pattern, name) {
			own = s
		}
	}
	return own
}

// Optional reports whether flags or settings turn on a rule that is off by default.
func (r *Rules) Optional(flags map[string]bool) bool {
	for _, name := range lint.OptionalRules() {
		off, said := flags[name]
		on := said && !off || r.everywhere[name] != 0
		for _, p := range r.byPath {
			on = on || p.severities[name] != 0
		}
		if on {
			return true
		}
	}
	return false
}

// Apply sets the severities of findings and drops findings of rules that are off. Flags override
// settings.
func (r *Rules) Apply(found spec.Diagnostics, flags map[string]bool) spec.Diagnostics {
	var out spec.Diagnostics
	optional := lint.OptionalRules()
	for _, d := range found {
		own := d.Severity
		off, said := flags[d.Rule]
		usual := own
		if slices.Contains(optional, d.Rule) {
			usual = 0
		}
		d.Severity = r.severityIn(d.File.Name, d.Rule, usual)
		switch {
		case said && off:
			continue
		case said && d.Severity == 0:
			d.Severity = own
		case said && d.Severity == spec.Info: // explicitly requested
			d.Severity = spec.Warning
		case d.Severity == 0:
			continue
		}
		out = append(out, d)
	}
	return out
}

// Shown returns the findings to show.
func (r *Rules) Shown(found spec.Diagnostics) spec.Diagnostics {
	return lint.WithoutEchoes(r.Apply(found, nil))
}

// matchPath reports whether a pattern matches a path or one of its folders. `*` and `?` match
// within a name, `**` any number of folders.
func matchPath(pattern, name string) bool {
	m := &gitignore.Matcher{}
	m.AddPatterns([]byte("/"+strings.TrimSuffix(pattern, "/")), "")
	for ; name != "." && name != "/"; name = path.Dir(name) {
		if m.MatchPath(name, true) {
			return true
		}
	}
	return false
}

const stdin = "<stdin>" // the name of the standard input

// RelativeTo returns a file's path relative to a folder, with slashes. The name of stdin stays.
func RelativeTo(folder, name string) string {
	full, err := filepath.Abs(name)
	from, fromErr := filepath.Abs(folder)
	if name == stdin || err != nil || fromErr != nil {
		return filepath.ToSlash(name)
	}
	rel, err := filepath.Rel(from, full)
	if err != nil {
		rel = full
	}
	return filepath.ToSlash(rel)
}
