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

// Excludes are the patterns of files that searches skip. Files named directly are not skipped.
type Excludes struct {
	folder   string // of the settings file
	patterns []string
}

// excludes reports whether a pattern matches a file or folder.
func (e *Excludes) excludes(name string) bool {
	if len(e.patterns) == 0 {
		return false
	}
	relative := RelativeTo(e.folder, name)
	for _, pattern := range e.patterns {
		if matchPath(pattern, relative) {
			return true
		}
	}
	return false
}

// ignored holds the .gitignore rules of a folder and, in a repository, of its enclosing
// folders and .git/info/exclude.
type ignored struct {
	root    string // paths are relative to it
	matcher *gitignore.Matcher
}

// ignoredBelow reads the rules of enclosing folders. readFolder adds those of a folder below.
func ignoredBelow(folder string) *ignored {
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
	around := g.root
	for _, name := range strings.Split(RelativeTo(g.root, full), "/") {
		if around != full {
			g.readFolder(around)
			around = filepath.Join(around, name)
		}
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
	within := RelativeTo(g.root, folder)
	if within == "." {
		within = ""
	}
	g.matcher.AddFromFile(filepath.Join(folder, ".gitignore"), within)
}

// ignores reports whether git ignores a file or folder.
func (g *ignored) ignores(name string, isFolder bool) bool {
	return g != nil && g.matcher.MatchPath(RelativeTo(g.root, name), isFolder)
}

// Find returns path if it is a file, or else the wanted files below it without those that
// settings or git exclude. left names excluded files and folders.
func (e *Excludes) Find(path string, wanted func(name string) bool) (names, left []string, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, nil, err
	}
	root := path
	if !os.IsPathSeparator(root[len(root)-1]) {
		root += string(filepath.Separator) // follows a link that is named directly
	}
	ignored := ignoredBelow(root)
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != root && entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case !entry.IsDir() && !wanted(name):
		case name != root && (e.excludes(name) || ignored.ignores(name, entry.IsDir())):
			left = append(left, name)
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
	return names, left, err
}
