// Package templates holds the flows that graphrun init starts from: a folder
// each, whose flow.yaml says by its description what it is.
package templates

import (
	"embed"
	"io/fs"
	"path"
	"slices"
)

//go:embed */*
var files embed.FS

// Flow is the file in every folder that is run.
const Flow = "flow.yaml"

// File is a file of a template.
type File struct {
	// Name is its path in the folder of the template, with slashes.
	Name string
	Text []byte
}

// Names lists the templates, sorted.
func Names() []string {
	folders, _ := files.ReadDir(".") // it is part of the program
	var names []string
	for _, folder := range folders {
		names = append(names, folder.Name())
	}
	slices.Sort(names)
	return names
}

// Files returns a template's files, sorted by name; none: there is no such
// template.
func Files(template string) ([]File, error) {
	if !slices.Contains(Names(), template) {
		return nil, nil
	}
	var out []File
	err := fs.WalkDir(files, template, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(at)
		out = append(out, File{Name: at[len(template)+1:], Text: text})
		return err
	})
	slices.SortFunc(out, func(a, b File) int {
		if (a.Name == Flow) != (b.Name == Flow) { // it comes first
			if a.Name == Flow {
				return -1
			}
			return 1
		}
		return slices.Compare([]byte(path.Clean(a.Name)), []byte(path.Clean(b.Name)))
	})
	return out, err
}
