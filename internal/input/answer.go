// Answers of people: parsing, choices and fields.

package input

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
)

// ParseAnswer parses an answer as a value of a schema, whose source is document. It tries the text
// itself, then YAML or JSON, then the schema's Choices by their first letters or numbers.
func ParseAnswer(text string, s *schema.Schema, document any) (any, error) {
	problem := s.Check(text)
	if problem == nil {
		return text, nil
	}
	value, err := decodeText(text)
	if err == nil {
		if value, problem = s.Accept(value); problem == nil {
			return value, nil
		}
	}
	choices := Choices(document)
	if len(choices) == 0 {
		if err != nil {
			return nil, fmt.Errorf("it %w", err)
		}
		return nil, problem
	}
	choice, err := findChoice(text, choices)
	if err != nil {
		return nil, err
	}
	return s.Normalise(choice.Value), nil
}

// decodeText parses a text as YAML, or as JSON that YAML refuses, such as JSON with tabs.
func decodeText(text string) (any, error) {
	value, err := ParseYAML([]byte(text))
	if err == nil {
		return eval.Canonical(value)
	}
	if value, jsonErr := eval.ParseJSON([]byte(text)); jsonErr == nil {
		return value, nil
	}
	return nil, err
}

// Choice is a possible answer and its name.
type Choice struct {
	Name  string
	Value any
}

// Choices returns the values of an enum in its order, or yes and no for a boolean.
func Choices(document any) []Choice {
	doc, _ := document.(map[string]any)
	list, _ := doc["enum"].([]any)
	out := make([]Choice, 0, len(list))
	for _, v := range list {
		name, ok := v.(string)
		if text, err := eval.AppendJSON(nil, v); !ok && err == nil {
			name = string(text)
		}
		out = append(out, Choice{name, v})
	}
	if len(out) == 0 && doc["type"] == "boolean" {
		return []Choice{{"yes", true}, {"no", false}}
	}
	return out
}

// findChoice returns the choice with a name in any case, a number, or a unique prefix.
func findChoice(text string, choices []Choice) (Choice, error) {
	text = strings.TrimSpace(text)
	var same, longer []Choice
	for _, c := range choices {
		switch {
		case c.Name == text:
			return c, nil
		case strings.EqualFold(c.Name, text):
			same = append(same, c)
		}
		if text != "" && len(c.Name) >= len(text) && strings.EqualFold(c.Name[:len(text)], text) {
			longer = append(longer, c)
		}
	}
	n, err := strconv.Atoi(text)
	switch {
	case len(same) == 1:
		return same[0], nil
	case err == nil && n >= 1 && n <= len(choices):
		return choices[n-1], nil
	case len(longer) == 1:
		return longer[0], nil
	case len(longer) > 1:
		return Choice{}, fmt.Errorf("%q may be %s", text, quoteNames(longer, " or "))
	}
	return Choice{}, fmt.Errorf("%q is not one of %s", text, quoteNames(choices, ", "))
}

func quoteNames(choices []Choice, separator string) string {
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = strconv.Quote(c.Name)
	}
	return strings.Join(names, separator)
}

// ChoiceNames returns the names of the possible answers; see Choices.
func ChoiceNames(document any) []string {
	var out []string
	for _, c := range Choices(document) {
		out = append(out, c.Name)
	}
	return out
}

// Field is a property of a requested object.
type Field struct {
	Name     string
	Schema   map[string]any
	Required bool
}

// Fields returns the properties of an object's schema in the given order. Properties that order
// lacks follow: required ones first, then by name. Fields returns nil if the schema allows
// types other than object.
func Fields(document map[string]any, order []string) []Field {
	properties, _ := document["properties"].(map[string]any)
	if !slices.Equal(Types(document), []string{"object"}) {
		return nil
	}
	required, _ := document["required"].([]any)
	names := slices.Clone(order)
	for _, name := range required {
		if s, ok := name.(string); ok {
			names = append(names, s)
		}
	}
	var fields []Field
	for _, name := range append(names, slices.Sorted(maps.Keys(properties))...) {
		if properties[name] != nil && !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			inner, _ := properties[name].(map[string]any)
			fields = append(fields, Field{name, inner, slices.Contains(required, any(name))})
		}
	}
	return fields
}
