// Package settings reads graphrun.yaml. It also finds files and reads .gitignore.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/trigger"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// Name is the name of a settings file.
const Name = "graphrun.yaml"

// File holds the settings of a file.
type File struct {
	Path string
	// Values are the settings with a single value, by the names of their flags.
	Values map[string]any
	Rules  Rules
	// Triggers start runs in serve.
	Triggers trigger.List
	// Notify is a graph whose notify applies to the runs of all graphs, or nil.
	Notify *spec.Graph

	file      *spec.File
	found     spec.Diagnostics
	positions map[string]string // of Values: file and line
}

// Position returns the file and line of a setting.
func (s *File) Position(name string) string { return s.positions[name] }

// NeverOff is the rule that can't be turned off: it says that a file was not checked at all.
const NeverOff = "syntax"

// listKeys returns the keys of a settings file. known are the settings with a single value;
// the ones that begin with "temporal-" may also be keys of "temporal".
func listKeys(known []string) []spec.Key {
	rules := spec.Key{Name: "rules", Type: spec.TypeObject}
	for _, name := range lint.RuleNames() {
		k := spec.Key{Name: name, Type: spec.TypeEnum, Enum: []string{"error", "info", "off", "warning"}}
		if name == NeverOff {
			k.Enum = k.Enum[:1]
		}
		rules.Keys = append(rules.Keys, k)
	}
	temporal := spec.Key{Name: "temporal", Type: spec.TypeObject}
	keys := []spec.Key{
		rules,
		{Name: "paths", Type: spec.TypeMap, Elem: &rules},
		{Name: "exclude", Type: spec.TypeList, Elem: &spec.Key{Type: spec.TypeString}},
		{Name: "notify", Type: spec.TypeAny},
		trigger.ListKey,
	}
	for _, name := range known {
		k := spec.Key{Name: name, Type: spec.TypeString, Role: spec.RoleTemplate} // any scalar
		keys = append(keys, k)
		if rest, ok := strings.CutPrefix(name, "temporal-"); ok {
			k.Name = rest
			temporal.Keys = append(temporal.Keys, k)
		}
	}
	return append(keys, temporal)
}

// Read reads the nearest settings file, from a folder ("" is the working directory) upwards and then
// in configDir. known returns the settings with a single value. Without a file the result is empty.
func Read(from, configDir string, known func() []string) (*File, error) {
	path, src, err := findFile(from, configDir)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	s := &File{Path: path, Values: map[string]any{}, Rules: Rules{Folder: folder, Exclude: Excludes{folder: folder}}, file: spec.NewFile(path, src), positions: map[string]string{}}
	if !regexp.MustCompile(`(?m)^\s*[^#\s]`).Match(src) {
		return s, nil // nothing but comments
	}
	root, found := spec.Read(path, src, "settings are a map of names to values", listKeys(known()))
	s.found = found
	if root != nil {
		for i := range root.Fields {
			s.readSection(&root.Fields[i])
		}
	}
	if len(s.found) > 0 {
		return nil, &spec.InvalidError{Findings: s.found.Sort()}
	}
	return s, nil
}

// findFile returns the path and text of the settings file, or "". It skips graphs of that name.
func findFile(from, configDir string) (string, []byte, error) {
	var folders []string
	dir, err := filepath.Abs(from)
	for last := ""; err == nil && dir != last; last, dir = dir, filepath.Dir(dir) {
		folders = append(folders, dir)
	}
	if configDir != "" {
		folders = append(folders, filepath.Join(configDir, "graphrun"))
	}
	for i, dir := range folders {
		path := filepath.Join(dir, Name)
		src, err := bounded.ReadFile(path, bounded.Text)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && spec.IsGraph(src):
			continue
		case err != nil:
			return "", nil, fmt.Errorf("settings: %w", err)
		case i == 0:
			path = filepath.Join(from, Name)
		}
		return path, src, nil
	}
	return "", nil, nil
}

func (s *File) readSection(f *spec.Field) {
	switch f.Key.Value {
	case "rules":
		s.Rules.severities = slices.Insert(s.Rules.severities, 0, pathSeverities{"", readSeverities(&f.Value)})
	case "paths":
		for _, own := range f.Value.Fields {
			s.Rules.severities = append(s.Rules.severities, pathSeverities{s.checkPattern(own.Key), readSeverities(&own.Value)})
		}
	case "exclude":
		for i := range f.Value.Items {
			s.Rules.Exclude.patterns = append(s.Rules.Exclude.patterns, s.checkPattern(f.Value.Items[i].Text))
		}
	case "notify":
		s.readNotify(f)
	case "triggers":
		inside := func(d spec.Diagnostic) bool { return f.Key.Span.From <= d.Span.From && d.Span.To <= f.Value.Span.To }
		for _, d := range s.found {
			if inside(d) {
				s.Triggers.Problems = append(s.Triggers.Problems, d)
			}
		}
		s.found = slices.DeleteFunc(s.found, inside) // other commands ignore triggers
		s.Triggers.Read(s.file, &f.Value)
	case "temporal":
		for i := range f.Value.Fields {
			s.setValue("temporal-"+f.Value.Fields[i].Key.Value, &f.Value.Fields[i])
		}
	default:
		s.setValue(f.Key.Value, f)
	}
}

func (s *File) setValue(name string, f *spec.Field) {
	s.Values[name] = f.Value.Text.Value
	s.positions[name] = fmt.Sprintf("%s:%d", s.Path, s.file.Position(f.Key.Span.From).Line)
}

// checkPattern returns a path pattern and reports an invalid one.
func (s *File) checkPattern(t spec.Text) string {
	pattern := strings.TrimPrefix(t.Value, "./")
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		s.found = append(s.found, spec.Diagnostic{File: s.file, Rule: "invalid-value", Severity: spec.Error, Span: t.Span, Message: fmt.Sprintf("%q is not a path pattern", t.Value)})
	}
	return pattern
}

// readNotify parses the key notify as part of a graph, at the same position.
func (s *File) readNotify(f *spec.Field) {
	text := slices.Clone(s.file.Src[:f.Value.Span.To])
	for i := range f.Key.Span.From {
		if text[i] != '\n' {
			text[i] = ' '
		}
	}
	text = append(text, "\ngraphrun: v1\nname: settings\nstart: a\nnodes: {a: {kind: pass}}\nedges: [{from: a, to: END}]\n"...)
	g, found := spec.Parse(s.Path, text, spec.Options{})
	s.Notify, s.found = g, append(s.found, found...)
}

var severityWords = map[string]spec.Severity{"info": spec.Info, "warning": spec.Warning, "error": spec.Error}

func readSeverities(v *spec.Value) severities {
	out := severities{}
	for i := range v.Fields {
		out[v.Fields[i].Key.Value] = severityWords[v.Fields[i].Value.Text.Value]
	}
	return out
}
