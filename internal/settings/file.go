// Package settings reads graphrun.yaml: unknown keys are errors with their line. It also finds
// files and reads .gitignore.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/internal/trigger"
	"github.com/graphrun/graphrun/spec"
	"gopkg.in/yaml.v3"
)

// Name is the name of a settings file. The others are names of sections.
const (
	Name     = "graphrun.yaml"
	temporal = "temporal"
	notify   = "notify"
)

// File is a settings file with its values and their lines.
type File struct {
	Path   string
	Values map[string]any
	lines  map[string]int
	Rules  Rules
	// Triggers start runs in serve.
	Triggers trigger.List
	// Notify is a graph whose notify applies to the runs of all graphs, or nil.
	Notify *spec.Graph
}

// Place returns the position of a setting.
func (s *File) Place(name string) string { return fmt.Sprintf("%s:%d", s.Path, s.lines[name]) }

// sections returns the keys with more than one value.
func sections() []string {
	return []string{"exclude", "notify", "paths", "rules", temporal, "triggers"}
}

// Read reads the nearest settings file from a folder upwards ("" for the working directory), or
// else the one below configDir. known are the settings with a single value. Without a file the
// result is empty. The error joins all problems with their positions.
func Read(from, configDir string, known []string) (*File, error) {
	path, src, err := find(from, configDir)
	if err != nil {
		return nil, err
	}
	out := &File{Path: path, Rules: Rules{Folder: filepath.Dir(path), Exclude: Excludes{folder: filepath.Dir(path)}}}
	if path == "" {
		return out, nil
	}
	out.Triggers = trigger.Read(path, src)
	return out, errors.Join(out.parse(src, known)...)
}

// find returns the path and text of the settings file, or "". It skips graphs of that name.
func find(from, configDir string) (string, []byte, error) {
	var folders []string
	if dir, err := filepath.Abs(from); err == nil {
		for {
			folders = append(folders, dir)
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	if configDir != "" {
		folders = append(folders, filepath.Join(configDir, "graphrun"))
	}
	for i, dir := range folders {
		path := filepath.Join(dir, Name)
		src, err := bounded.ReadFile(path, bounded.Text)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", nil, fmt.Errorf("settings: %w", err)
		}
		if spec.IsGraph(src) {
			continue
		}
		if i == 0 {
			path = filepath.Join(from, Name)
		}
		return path, src, nil
	}
	return "", nil, nil
}

func (s *File) parse(src []byte, known []string) []error {
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return []error{fmt.Errorf("%s: %w", s.Path, err)}
	}
	if len(doc.Content) == 0 {
		return nil // empty, or comments only
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return []error{fmt.Errorf("%s:%d: settings must be a map of names to values", s.Path, root.Line)}
	}
	s.Values, s.lines = map[string]any{}, map[string]int{}
	var problems []error
	for i := 0; i+1 < len(root.Content); i += 2 {
		if err := s.add(root.Content[i], root.Content[i+1], known); err != nil {
			problems = append(problems, err)
		}
		if root.Content[i].Value == notify {
			end := strings.Count(string(src), "\n") + 1
			if i+2 < len(root.Content) {
				end = root.Content[i+2].Line - 1
			}
			problems = append(problems, s.readNotify(src, root.Content[i].Line, end)...)
		}
	}
	return problems
}

func (s *File) add(key, value *yaml.Node, known []string) error {
	name := key.Value
	if s.lines[name] != 0 {
		return s.at(key, fmt.Errorf("%q is set twice, first on line %d", name, s.lines[name]))
	}
	s.lines[name] = key.Line
	if name == "triggers" || name == notify {
		return nil
	}
	if name == "exclude" {
		return s.readExclude(value)
	}
	if name == temporal {
		return s.readTemporal(value, known)
	}
	if slices.Contains(sections(), name) {
		return s.readRules(name, value)
	}
	if !slices.Contains(known, name) {
		allowed := slices.Sorted(slices.Values(append(sections(), known...)))
		hint := suggest.DidYouMean(name, allowed)
		if dashed := strings.ReplaceAll(name, "_", "-"); slices.Contains(allowed, dashed) {
			hint = fmt.Sprintf("; did you mean %q?", dashed)
		}
		return s.at(key, fmt.Errorf("unknown setting %q%s (allowed: %s)", name, hint, strings.Join(allowed, ", ")))
	}
	if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
		return s.at(key, fmt.Errorf("%q must be a single value", name))
	}
	s.Values[name] = value.Value
	return nil
}

// readNotify parses the lines of the key notify as part of a graph.
func (s *File) readNotify(src []byte, first, last int) []error {
	lines := strings.Split(string(src), "\n")
	for i := range lines {
		if i+1 < first || i+1 > last {
			lines[i] = "" // other lines keep their numbers
		}
	}
	lines = append(lines, "graphrun: v1", "name: settings", "start: a", "nodes: {a: {kind: pass}}", "edges: [{from: a, to: END}]", "")
	g, found := spec.Parse(s.Path, []byte(strings.Join(lines, "\n")), spec.Options{})
	var problems []error
	for i := range found {
		if d := &found[i]; d.Severity == spec.Error {
			problems = append(problems, fmt.Errorf("%s:%d: %s", s.Path, d.File.Position(d.Span.From).Line, d.Message))
		}
	}
	s.Notify = g
	return problems
}

// readTemporal reads the section `temporal`: settings whose flags have that prefix.
func (s *File) readTemporal(value *yaml.Node, known []string) error {
	if value.Kind != yaml.MappingNode {
		return s.at(value, fmt.Errorf("%q must be a map of settings", temporal))
	}
	var names []string
	for _, name := range known {
		if rest, ok := strings.CutPrefix(name, temporal+"-"); ok {
			names = append(names, rest)
		}
	}
	for i := 0; i+1 < len(value.Content); i += 2 {
		key, item := value.Content[i], value.Content[i+1]
		if !slices.Contains(names, key.Value) {
			return s.at(key, fmt.Errorf("unknown setting %q of %s%s (allowed: %s)", key.Value, temporal, suggest.DidYouMean(key.Value, names), strings.Join(names, ", ")))
		}
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return s.at(item, fmt.Errorf("%q must be a single value", key.Value))
		}
		name := temporal + "-" + key.Value
		s.Values[name], s.lines[name] = item.Value, key.Line
	}
	return nil
}
