// Files that a search of folders skips: by `exclude` of graphrun.yaml and by .gitignore.

package settings

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-pkgs/gitignore"
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
