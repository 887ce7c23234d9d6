// Reading other files than graphs as strictly as graphs.

package spec

import (
	"fmt"
	"strings"
)

// Read reads a YAML or JSON file that is a map with the given keys and reports all errors in
// its text and shape. what describes such a file in findings: "a script is a map with the key
// responses". The value is nil if the text can't be read; with errors, parts may have other
// shapes than the keys. It keeps src, which must not change afterwards.
func Read(name string, src []byte, what string, keys []Key) (*Value, Diagnostics) {
	file := NewFile(name, src)
	root, diags := loadMap(file, what)
	if root == nil {
		return nil, diags.Sort()
	}
	d := newDecoder(file, Options{})
	d.readObject(keys, nil, root, Text{}, nil)
	return root, append(diags, d.diags...).Sort()
}

// ReadValue reads a YAML or JSON file of any shape. what ends the finding about an empty
// file. The value is nil if the text can't be read. It keeps src, which must
// not change afterwards.
func ReadValue(name string, src []byte, what string) (*Value, Diagnostics) {
	root, diags := loadDocument(NewFile(name, src), what)
	return root, diags.Sort()
}

// InvalidError holds all findings about a file that can't be used, sorted by place.
type InvalidError struct{ Findings Diagnostics }

// Error has one line for each finding: file, line, column, message.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, d := range e.Findings {
		at := d.File.Position(d.Span.From)
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", d.File.Name, at.Line, at.Column, d.Message)
		if d.Suggestion != "" {
			lines[i] += fmt.Sprintf("; did you mean %q?", d.Suggestion)
		}
	}
	return strings.Join(lines, "\n")
}
