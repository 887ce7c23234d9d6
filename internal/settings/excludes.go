// Files that a search of folders skips: by `exclude` of graphrun.yaml and by .gitignore.

package settings

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-pkgs/gitignore"

	"github.com/graphrun/graphrun/internal/bounded"
)

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
	for up := full; ; up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, ".git")); err == nil {
			g.root = up
			g.read(filepath.Join(up, ".git", "info", "exclude"), "")
			break
		}
		if filepath.Dir(up) == up {
			break
		}
	}
	within := g.relative(full)
	if within == "." {
		return g
	}
	parts := strings.Split(within, "/")
	for i := range parts {
		around := strings.Join(parts[:i], "/")
		g.read(filepath.Join(g.root, filepath.FromSlash(around), ".gitignore"), around)
	}
	if g.matcher.MatchPath(within, true) {
		return nil // an ignored folder that is named directly is searched
	}
	return g
}

func (g *ignored) relative(full string) string {
	name, err := filepath.Rel(g.root, full)
	if err != nil {
		return "."
	}
	return filepath.ToSlash(name)
}

func (g *ignored) read(file, folder string) {
	if src, err := bounded.ReadFile(file, bounded.Text); err == nil {
		g.matcher.AddPatterns(src, folder)
	}
}

// readFolder reads the .gitignore of a folder, if there is one.
func (g *ignored) readFolder(folder string) {
	if full, err := filepath.Abs(folder); g != nil && err == nil {
		within := g.relative(full)
		if within == "." {
			within = ""
		}
		g.read(filepath.Join(full, ".gitignore"), within)
	}
}

// leaves reports whether git ignores a file or folder.
func (g *ignored) leaves(name string, isFolder bool) bool {
	full, err := filepath.Abs(name)
	return g != nil && err == nil && g.matcher.MatchPath(g.relative(full), isFolder)
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
		case name != root && (e.excludes(name) || ignored.leaves(name, entry.IsDir())):
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
