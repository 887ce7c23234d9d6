// What a person is asked for: one value, or the fields of an object.

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/given"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/terminal"
)

const maxDefault = 40 // columns of a default

// askedValue is a value that a person is asked for; the name is "" for a whole answer.
type askedValue struct {
	name     string
	schema   map[string]any
	required bool
}

// fieldsOf returns the fields of an object's schema in the given order. Fields missing from
// order follow: required ones first, then by name. It returns nil if the schema allows
// other types than object.
func fieldsOf(document map[string]any, order []string) []askedValue {
	properties, _ := document["properties"].(map[string]any)
	if types := typesOf(document); !slices.Equal(types, []string{"object"}) {
		return nil
	}
	required, _ := document["required"].([]any)
	candidates := slices.Clone(order)
	for _, name := range required {
		if s, ok := name.(string); ok {
			candidates = append(candidates, s)
		}
	}
	var names []string
	for _, name := range append(candidates, sortedKeys(properties)...) {
		if properties[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	fields := make([]askedValue, len(names))
	for i, name := range names {
		inner, _ := properties[name].(map[string]any)
		fields[i] = askedValue{name: name, schema: inner, required: slices.Contains(required, any(name))}
	}
	return fields
}

// fill asks for an object field by field.
func (k *asker) fill(ctx context.Context, fields []askedValue) (string, error) {
	k.hint("field by field, or all at once as {" + fields[0].name + ": …}")
	out := map[string]any{}
	for i := range fields {
		f := &fields[i]
		k.say("  "+k.colors.Strong(terminal.Line(f.name))+"  "+terminal.Line(f.about(k.edit != nil)), len("    "))
		k.list(f.choices())
		for {
			text, err := k.text(ctx, f.name)
			if err != nil {
				return "", err
			}
			if i == 0 && strings.HasPrefix(strings.TrimSpace(text), "{") {
				return text, nil
			}
			if text == "" && !f.required {
				break // its default, or nothing
			}
			value, err := f.value(text)
			if err == nil {
				out[f.name] = value
				break
			}
			k.complain(f.name + ": " + err.Error())
		}
	}
	text, err := json.Marshal(out)
	return string(text), err
}

func (f *askedValue) takes(name string) bool { return slices.Contains(typesOf(f.schema), name) }

// text reports whether any text is an answer.
func (f *askedValue) text() bool { return len(typesOf(f.schema)) == 0 || f.takes("string") }

// choices are the legal answers, when there are few.
func (f *askedValue) choices() []string { return choicesOf(f.schema) }

// hint says how a value is answered.
func (f *askedValue) hint(editor bool) string {
	var how []string
	switch {
	case len(f.choices()) > 0:
		how = append(how, "a number or the first letters")
	case f.text() && editor:
		how = append(how, openEditor+" opens an editor")
	case !f.text():
		how = append(how, strings.Join(typesOf(f.schema), " or "))
		if f.takes("object") || f.takes("array") {
			how = append(how, "as YAML or JSON")
		}
	}
	return strings.Join(how, ", ")
}

// about is a field's description, and what it takes.
func (f *askedValue) about(editor bool) string {
	var out []string
	if hint := f.hint(editor); hint != "" {
		out = append(out, hint)
	}
	if value, has := f.schema["default"]; has {
		out = append(out, "default "+runview.ValueText(value, maxDefault))
	} else if !f.required {
		out = append(out, "may stay empty")
	}
	text, _ := f.schema["description"].(string)
	if len(out) > 0 {
		text += "  (" + strings.Join(out, "; ") + ")"
	}
	return strings.TrimLeft(text, " ")
}

// value is what was typed.
func (f *askedValue) value(text string) (any, error) {
	if text == "" {
		return nil, errors.New("an answer is needed")
	}
	compiled, err := schema.Compile(f.schema)
	if err != nil {
		return text, nil // whoever asks has said what is wrong with the schema
	}
	return given.Answer(text, compiled, f.schema)
}

// choicesOf names the legal answers, when a question lists them.
func choicesOf(schema any) []string {
	var out []string
	for _, choice := range given.Choices(schema) {
		out = append(out, choice.Name)
	}
	return out
}
