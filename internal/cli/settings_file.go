// Reading graphrun.yaml strictly: every key is known and every mistake has its
// line.

package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/internal/trigger"
)

// settings is a settings file: flat values by name, and where each stands.
type settings struct {
	path   string
	values map[string]any
	lines  map[string]int
	rules  ruleSettings
	// triggers are what serve starts runs by; misread is what is wrong with their list,
	// which validate and serve tell.
	triggers []*trigger.Trigger
	misread  []trigger.Problem
	src      []byte
}

// place is where a setting stands in the file.
func (s *settings) place(name string) string { return fmt.Sprintf("%s:%d", s.path, s.lines[name]) }

// sections are the keys that hold more than one value.
func sections() []string { return []string{"exclude", "paths", "rules", engineTemporal, "triggers"} }

// readSettings finds and reads the settings file; without one it is empty.
func (a *app) readSettings() (*settings, error) {
	path, src, err := a.findSettings()
	if err != nil {
		return nil, err
	}
	out := &settings{path: path, src: src, rules: ruleSettings{folder: filepath.Dir(path), exclude: excludes{folder: filepath.Dir(path)}}}
	if path == "" {
		return out, nil
	}
	if problems := out.parse(src, settingNames()); len(problems) > 0 {
		return nil, usage(errors.Join(problems...))
	}
	return out, nil
}

func (s *settings) parse(src []byte, known []string) []error {
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return []error{fmt.Errorf("%s: %w", s.path, err)}
	}
	if len(doc.Content) == 0 {
		return nil // empty, or comments only
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return []error{fmt.Errorf("%s:%d: settings must be a map of names to values", s.path, root.Line)}
	}
	s.values, s.lines = map[string]any{}, map[string]int{}
	var problems []error
	for i := 0; i+1 < len(root.Content); i += 2 {
		if err := s.add(root.Content[i], root.Content[i+1], known); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

func (s *settings) add(key, value *yaml.Node, known []string) error {
	name := key.Value
	if s.lines[name] != 0 {
		return s.at(key, fmt.Errorf("%q is set twice, first on line %d", name, s.lines[name]))
	}
	s.lines[name] = key.Line
	if name == "triggers" {
		s.triggers, s.misread = trigger.Read(value)
		return nil
	}
	if name == "exclude" {
		return s.readExclude(value)
	}
	if name == engineTemporal {
		return s.readTemporal(value, known)
	}
	if slices.Contains(sections(), name) {
		return s.readRules(name, value)
	}
	if !slices.Contains(known, name) {
		allowed := slices.Sorted(slices.Values(append(sections(), known...)))
		hint := didYouMean(name, allowed)
		if dashed := strings.ReplaceAll(name, "_", "-"); slices.Contains(allowed, dashed) {
			hint = fmt.Sprintf("; did you mean %q?", dashed)
		}
		return s.at(key, fmt.Errorf("unknown setting %q%s (allowed: %s)", name, hint, strings.Join(allowed, ", ")))
	}
	if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
		return s.at(key, fmt.Errorf("%q must be a single value", name))
	}
	s.values[name] = value.Value
	return nil
}

// readTemporal reads the settings below `temporal`, which are those of that prefix.
func (s *settings) readTemporal(value *yaml.Node, known []string) error {
	if value.Kind != yaml.MappingNode {
		return s.at(value, fmt.Errorf("%q must be a map of settings", engineTemporal))
	}
	var names []string
	for _, name := range known {
		if rest, ok := strings.CutPrefix(name, engineTemporal+"-"); ok {
			names = append(names, rest)
		}
	}
	for i := 0; i+1 < len(value.Content); i += 2 {
		key, item := value.Content[i], value.Content[i+1]
		if !slices.Contains(names, key.Value) {
			return s.at(key, fmt.Errorf("unknown setting %q of %s%s (allowed: %s)", key.Value, engineTemporal, didYouMean(key.Value, names), strings.Join(names, ", ")))
		}
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return s.at(item, fmt.Errorf("%q must be a single value", key.Value))
		}
		name := engineTemporal + "-" + key.Value
		s.values[name], s.lines[name] = item.Value, key.Line
	}
	return nil
}
