// Texts in files of their own (GraphSpec §9): Parse replaces `{file: path}` by the text of the file.

package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/bounded"
)

// maxTextBytes bounds the bytes of all texts that one graph file names.
const maxTextBytes = 64 << 20

// textFileKeys are the keys of {file: path}.
var textFileKeys = []Key{{Name: "file", Type: TypeString, Required: true, Doc: "The file that holds the text; its path is relative to the folder of the graph's file."}}

// isFileReference reports whether a value is {file: path}, possibly misspelt.
func isFileReference(v *Value) bool {
	return v.Kind == Map && slices.ContainsFunc(v.Fields, func(f Field) bool {
		return f.Key.Value == "file" || findNearest(f.Key.Value, []string{"file"}) != ""
	})
}

// readTextFile replaces {file: path} by the text of the file.
func (d *decoder) readTextFile(v *Value, owner Text) {
	before := len(d.diags)
	d.readObject(textFileKeys, nil, v, owner, nil)
	path := Text{Span: v.Span}
	if named := v.Get("file"); named != nil && named.Kind == String {
		path = named.Text
	}
	*v = Value{Kind: String, Text: Text{Span: path.Span}}
	if len(d.diags) > before {
		return
	}
	file, problem := d.addText(path.Value, path.Span)
	if problem != "" {
		d.report("invalid-value", path.Span, "%s", problem)
		return
	}
	if fault, bad := checkText(file); bad {
		d.diags = append(d.diags, fault)
		return
	}
	v.Text = Text{Value: strings.TrimSuffix(string(file.Src), "\n"), Span: file.InHost(Span{0, len(file.Src)}), source: file}
}

// addText reads a file and adds it to the graph's texts, without a byte order mark and with "\n" at the
// end of lines. problem says why the file can't be read.
func (d *decoder) addText(path string, at Span) (text *File, problem string) {
	name := ResolvePath(d.file.Name, path)
	src, isKnown := d.texts[path]
	if !isKnown {
		if src, problem = d.loadText(path, quoteShort(name)); problem != "" {
			return nil, problem
		}
		src = bytes.ReplaceAll(bytes.TrimPrefix(src, []byte(byteOrderMark)), []byte("\r\n"), []byte("\n"))
		d.texts[path] = src
	}
	return d.file.addText(name, src, at), ""
}

// loadText reads a file. shown is its name in messages. problem says why it can't be read.
func (d *decoder) loadText(path, shown string) (src []byte, problem string) {
	switch {
	case path == "":
		return nil, "the path of a text is empty; expected the name of a file"
	case d.load == nil:
		return nil, "the text of the file " + shown + " is not read here"
	}
	src, err := d.load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "there is no file " + shown
	case err != nil:
		return nil, "the text can't be read: " + err.Error()
	case len(src) > bounded.Text:
		return nil, fmt.Sprintf("the file %s has %s; a text has at most %s", shown, bounded.Size(int64(len(src))), bounded.Size(bounded.Text))
	case len(src) > maxTextBytes-d.textBytes:
		return nil, fmt.Sprintf("with the file %s the texts of this graph have more than %s, the most that is read", shown, bounded.Size(maxTextBytes))
	}
	d.textBytes += len(src)
	return src, ""
}

// NewLoader returns a function for Options.Load that reads regular files of at most 16 MiB, within 30
// seconds each. Their paths are relative to the folder of the named file.
func NewLoader(name string) func(path string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		return bounded.ReadFile(ResolvePath(name, path), bounded.Text)
	}
}

// ResolvePath returns the path of a file that the named file refers to by a relative or absolute path.
func ResolvePath(name, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(name), path)
}
