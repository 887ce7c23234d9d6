// Finding graph files and test files in folders.

package cli

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/settings"
	"github.com/graphrun/graphrun/spec"
)

// source is a graph to check. src is nil when the file has not been read.
type source struct {
	name string
	src  []byte
}

// finder collects graphs, each once however often it is named.
type finder struct {
	sources []source
	exclude settings.Excludes
	kept    int      // bytes of their texts
	left    []string // files and folders that .gitignore or exclude leaves out
	seen    map[string]bool
}

// add takes a source unless it is there already.
func (f *finder) add(s source) {
	key := filepath.Clean(s.name)
	if f.seen[key] {
		return
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[key] = true
	f.sources = append(f.sources, s)
}

// sorted returns the sources by name.
func (f *finder) sorted() []source {
	slices.SortFunc(f.sources, func(a, b source) int { return cmp.Compare(a.name, b.name) })
	return f.sources
}

// find takes a file as it is, and from a folder all files that are graphs, but for those
// that settings or git leave out.
func (f *finder) find(path string) error { return f.search(path, isGraphName, f.consider) }

// findTests is find for test files.
func (f *finder) findTests(path string) error {
	return f.search(path, flowtest.IsTestFile, func(name string, _ fs.DirEntry) error {
		f.add(source{name: name})
		return nil
	})
}

// search takes a file as it is; those of a folder that have a wanted name are considered.
func (f *finder) search(path string, wanted func(name string) bool, consider func(name string, entry fs.DirEntry) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		f.add(source{name: path})
		return nil
	}
	root := path
	if !os.IsPathSeparator(root[len(root)-1]) {
		root += string(filepath.Separator) // a link that is named is followed
	}
	ignored := settings.IgnoredBelow(root)
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != root && entry.IsDir() && skipFolder(entry.Name()):
			return fs.SkipDir
		case !entry.IsDir() && !wanted(name):
			return nil
		case name != root && (f.exclude.Leaves(name) || ignored.Leaves(name, entry.IsDir())):
			f.left = append(f.left, name)
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			ignored.Enter(name)
			return nil
		}
		return consider(name, entry)
	})
}

// isGraphName reports whether a file may be a graph by its name.
func isGraphName(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml" || ext == ".json"
}

// consider takes a file found in a folder if it is a graph.
func (f *finder) consider(name string, entry fs.DirEntry) error {
	if !entry.Type().IsRegular() {
		// A link to a file counts as the file; one to a folder, a broken one
		// and a device do not.
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
	}
	src, err := bounded.ReadFile(name, bounded.Text)
	if err != nil {
		return err
	}
	if !spec.IsGraph(src) {
		return nil
	}
	if f.kept += len(src); f.kept > maxKept {
		src = nil // read again when it is checked: a large folder is not to fill the memory
	}
	f.add(source{name: name, src: src})
	return nil
}

// maxKept is how many bytes of found files are kept until they are checked.
const maxKept = 128 << 10

func skipFolder(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules"
}

// findTestFiles lists the test files of some paths, each once, sorted; left are those that
// a search has left out.
func (a *app) findTestFiles(args []string) (names, left []string, err error) {
	f := finder{exclude: a.rules.Exclude}
	for _, arg := range args {
		if err := f.findTests(arg); err != nil {
			return nil, nil, err
		}
	}
	for _, s := range f.sorted() {
		names = append(names, s.name)
	}
	return names, f.left, nil
}
