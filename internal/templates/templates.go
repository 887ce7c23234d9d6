// Package templates holds the templates of graphrun init, one folder each. Examples about models
// are templates, too.
package templates

import (
	"embed"
	"io/fs"
	"slices"

	"github.com/graphrun/graphrun/examples"
)

//go:embed */*
var files embed.FS

// Flow is the name of the flow in each folder.
const Flow = "flow.yaml"

// File is a file of a template.
type File struct {
	// Name is its path in the folder of the template, with slashes.
	Name string
	Text []byte
}

// sources returns the file systems with templates.
func sources() []embed.FS { return []embed.FS{files, examples.Models()} }

// Names lists the templates, sorted.
func Names() []string {
	var names []string
	for _, source := range sources() {
		folders, _ := source.ReadDir(".") // embedded
		for _, folder := range folders {
			names = append(names, folder.Name())
		}
	}
	slices.Sort(names)
	return names
}

// Files returns the files of a template, the flow first, or none for an unknown template.
func Files(template string) ([]File, error) {
	i := slices.IndexFunc(sources(), func(source embed.FS) bool {
		_, err := source.ReadDir(template)
		return err == nil && fs.ValidPath(template) && template != "."
	})
	if i < 0 {
		return nil, nil
	}
	source := sources()[i]
	var out []File
	err := fs.WalkDir(source, template, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := source.ReadFile(at)
		out = append(out, File{Name: at[len(template)+1:], Text: text})
		return err
	})
	if i := slices.IndexFunc(out, func(f File) bool { return f.Name == Flow }); i > 0 {
		out = slices.Concat(out[i:i+1], out[:i], out[i+1:])
	}
	return out, err
}
