// Checking triggers against the flows that they start.

package trigger

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// List holds the triggers of a settings file and their problems.
type List struct {
	Path     string
	Src      []byte
	Triggers []*Trigger
	Problems []Problem
}

// Check is Place for the flows beside the settings file.
func (l *List) Check() (spec.Diagnostics, error) {
	if len(l.Triggers)+len(l.Problems) == 0 {
		return nil, nil
	}
	flows, err := catalog.Open(filepath.Dir(l.Path), catalog.Rules{})
	if err != nil {
		return nil, err
	}
	return l.Place(flows), flows.Close()
}

// Place converts the flow paths of triggers from the settings file's folder to a catalog. It
// returns problems: missing or invalid flows and bad inputs.
func (l *List) Place(flows *catalog.Catalog) spec.Diagnostics {
	found := slices.Clone(l.Problems)
	for _, t := range l.Triggers {
		if t.Flow == "" {
			continue // reported already
		}
		wrong := func(at *yaml.Node, text string) { found = append(found, Problem{At: at, Rule: invalid, Text: text}) }
		file, err := filepath.Abs(filepath.Join(filepath.Dir(l.Path), filepath.FromSlash(t.Flow)))
		if err == nil {
			if dir, linkErr := filepath.EvalSymlinks(filepath.Dir(file)); linkErr == nil {
				file = filepath.Join(dir, filepath.Base(file))
			}
		}
		path := flows.PathOf(file)
		if err != nil || path == "" {
			wrong(t.FlowAt, fmt.Sprintf("%q is not below %s", t.Flow, flows.Dir()))
			continue
		}
		// The input of a webhook depends on the delivery.
		err = flows.Check(path, t.Input, t.Schedule != nil)
		var input *runner.InputError
		if errors.As(err, &input) {
			for _, problem := range input.Problems {
				wrong(t.InputAt, fmt.Sprintf("trigger of %q: %s", t.Flow, problem))
			}
		} else if err != nil {
			wrong(t.FlowAt, err.Error())
		}
		t.Flow = path
	}
	file := spec.NewFile(l.Path, l.Src)
	var out spec.Diagnostics
	for _, p := range found {
		out = append(out, spec.Diagnostic{File: file, Rule: p.Rule, Severity: spec.Error, Message: p.Text, Span: spanOf(l.Src, p.At)})
	}
	return out
}

// spanOf returns the span of a YAML node: of a plain or quoted scalar, or the rest of its line.
func spanOf(src []byte, n *yaml.Node) spec.Span {
	at := 0
	for line := 1; line < n.Line; line++ {
		at += bytes.IndexByte(src[at:], '\n') + 1
	}
	if n.Line == 1 && bytes.HasPrefix(src, []byte("\ufeff")) {
		at = 3 // the library does not count the byte order mark
	}
	for column := 1; column < n.Column && at < len(src); column++ {
		_, size := utf8.DecodeRune(src[at:])
		at += size
	}
	rest, _, _ := bytes.Cut(src[at:], []byte("\n"))
	text := bytes.TrimRight(rest, " \t\r")
	if n.Kind == yaml.ScalarNode {
		for _, quote := range []string{"", "'", `"`} {
			if written := quote + n.Value + quote; n.Value != "" && bytes.HasPrefix(rest, []byte(written)) {
				text = []byte(written)
			}
		}
	}
	return spec.Span{From: at, To: at + len(text)}
}
