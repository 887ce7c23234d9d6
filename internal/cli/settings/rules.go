// Severities and excluded files from graphrun.yaml: `rules:` for all files, `paths:` for some,
// `exclude:`, and .gitignore.
//
//	rules:
//	  unused-key: off            off, info, warning or error
//	paths:
//	  legacy/**:                 relative to the folder of graphrun.yaml
//	    missing-timeout: off

package settings

import (
	"io/fs"
	"os"
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

// Rules are the severities of a settings file. Later entries override earlier ones.
type Rules struct {
	Folder     string // of the settings file
	severities []pathSeverities
	Exclude    Excludes
}

// pathSeverities holds the severities for the files that a pattern matches; "" matches all.
type pathSeverities struct {
	pattern    string
	severities severities
}

// severityIn returns the severity of a rule in a file. severity is its default.
func (r *Rules) severityIn(file, rule string, severity spec.Severity) spec.Severity {
	for _, p := range r.severities {
		if s, has := p.severities[rule]; has && (p.pattern == "" || matchPath(p.pattern, relativeTo(r.Folder, file))) {
			severity = s
		}
	}
	return severity
}

// EnablesOptional reports whether flags or settings turn on a rule that is off by default.
func (r *Rules) EnablesOptional(flags map[string]bool) bool {
	return slices.ContainsFunc(lint.OptionalRules(), func(name string) bool {
		off, isNamed := flags[name]
		return isNamed && !off || slices.ContainsFunc(r.severities, func(p pathSeverities) bool { return p.severities[name] != 0 })
	})
}

// Apply sets the severities of findings and drops findings of rules that are off. Flags override
// settings.
func (r *Rules) Apply(found spec.Diagnostics, flags map[string]bool) spec.Diagnostics {
	var out spec.Diagnostics
	optional := lint.OptionalRules()
	for _, d := range found {
		usual := d.Severity
		if slices.Contains(optional, d.Rule) {
			usual = 0
		}
		severity := r.severityIn(d.File.Name, d.Rule, usual)
		off, isNamed := flags[d.Rule]
		switch {
		case isNamed && off:
			continue
		case isNamed && severity == 0:
			severity = d.Severity
		case isNamed && severity == spec.Info: // explicitly requested
			severity = spec.Warning
		case severity == 0:
			continue
		}
		d.Severity = severity
		out = append(out, d)
	}
	return out
}

// SelectShown returns the findings to show.
func (r *Rules) SelectShown(found spec.Diagnostics) spec.Diagnostics {
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

// relativeTo returns a file's path relative to a folder, with slashes. It returns <stdin> unchanged.
func relativeTo(folder, name string) string {
	if name == "<stdin>" {
		return name
	}
	full, _ := filepath.Abs(name) // fails if there is no working directory
	from, _ := filepath.Abs(folder)
	if rel, err := filepath.Rel(from, full); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(full)
}

// Excludes are the patterns of files that searches skip. Files named directly are not skipped.
type Excludes struct {
	folder   string // of the settings file
	patterns []string
}

// excludes reports whether a pattern matches a file or folder.
func (e *Excludes) excludes(name string) bool {
	relative := relativeTo(e.folder, name)
	return slices.ContainsFunc(e.patterns, func(pattern string) bool { return matchPath(pattern, relative) })
}

// ignored holds the .gitignore rules of a folder and, in a repository, of its enclosing
// folders and .git/info/exclude.
type ignored struct {
	root    string // paths are relative to it
	matcher *gitignore.Matcher
}

// readIgnored reads the rules of a folder and its enclosing folders. readFolder adds the rules of a
// folder below.
func readIgnored(folder string) *ignored {
	full, err := filepath.Abs(folder)
	if err != nil {
		return nil
	}
	g := &ignored{root: full, matcher: &gitignore.Matcher{}}
	for up := full; filepath.Dir(up) != up; up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, ".git")); err == nil {
			g.root = up
			g.matcher.AddFromFile(filepath.Join(up, ".git", "info", "exclude"), "")
			break
		}
	}
	for around, names := g.root, strings.Split(relativeTo(g.root, full), "/"); around != full; names = names[1:] {
		g.readFolder(around)
		around = filepath.Join(around, names[0])
	}
	if full != g.root && g.ignores(full, true) {
		return nil // an ignored folder that is named directly is searched
	}
	return g
}

// readFolder reads the .gitignore of a folder, if there is one.
func (g *ignored) readFolder(folder string) {
	if g == nil {
		return
	}
	within := relativeTo(g.root, folder)
	if within == "." {
		within = ""
	}
	g.matcher.AddFromFile(filepath.Join(folder, ".gitignore"), within)
}

func (g *ignored) ignores(name string, isFolder bool) bool {
	return g != nil && g.matcher.MatchPath(relativeTo(g.root, name), isFolder)
}

// Find returns path itself if it is a file, and otherwise the wanted files below it except those that
// settings or git exclude. excluded holds the excluded files and folders.
func (e *Excludes) Find(path string, wanted func(name string) bool) (names, excluded []string, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, nil, err
	}
	root := path
	if !os.IsPathSeparator(root[len(root)-1]) {
		root += string(filepath.Separator) // follows a link that is named directly
	}
	ignored := readIgnored(root)
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != root && entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case !entry.IsDir() && !wanted(name):
		case name != root && (e.excludes(name) || ignored.ignores(name, entry.IsDir())):
			excluded = append(excluded, name)
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir():
			ignored.readFolder(name)
		default:
			names = append(names, name)
		}
		return nil
	})
	return names, excluded, err
}
