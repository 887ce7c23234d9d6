// What a person is asked for: one value, or the fields of an object.

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/terminal"
)

// askedValue is a value that a person is asked for; the name is "" for a whole answer.
type askedValue struct {
	name     string
	schema   map[string]any
	required bool
}

// fieldsOf are the fields of an object's schema: those it requires, in its order,
// then the others by name. There are none when the answer need not be an object.
func fieldsOf(document map[string]any) []askedValue {
	properties, _ := document["properties"].(map[string]any)
	if types := typesOf(document); !slices.Equal(types, []string{"object"}) {
		return nil
	}
	var names []string
	required, _ := document["required"].([]any)
	for _, name := range required {
		if s, ok := name.(string); ok && properties[s] != nil && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	needed := len(names)
	for _, name := range sortedKeys(properties) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	fields := make([]askedValue, len(names))
	for i, name := range names {
		inner, _ := properties[name].(map[string]any)
		fields[i] = askedValue{name: name, schema: inner, required: i < needed}
	}
	return fields
}

// fill asks for an object field by field.
func (k *asker) fill(ctx context.Context, document map[string]any, fields []askedValue) (string, error) {
	k.hint("field by field, or all at once as {" + fields[0].name + ": …}")
	out := map[string]any{}
	for i := range fields {
		f := &fields[i]
		k.say("  "+k.colors.strong(terminal.Line(f.name))+"  "+terminal.Line(f.about(k.edit != nil)), len("    "))
		k.list(f.choices())
		for {
			text, err := k.text(ctx, f.name)
			if err != nil {
				return "", err
			}
			if i == 0 && strings.HasPrefix(strings.TrimSpace(text), "{") {
				return (&askedValue{schema: document}).asJSON(text), nil
			}
			if text == "" && !f.required {
				break // its default, or nothing
			}
			value, problem := f.value(text)
			if problem == "" {
				out[f.name] = value
				break
			}
			k.complain(f.name + ": " + problem)
		}
	}
	text, err := json.Marshal(out)
	return string(text), err
}

func (f *askedValue) takes(name string) bool { return slices.Contains(typesOf(f.schema), name) }

// text reports whether any text is an answer.
func (f *askedValue) text() bool { return len(typesOf(f.schema)) == 0 || f.takes("string") }

// choices are the legal answers, when there are few.
func (f *askedValue) choices() []string {
	if f.takes("boolean") && len(typesOf(f.schema)) == 1 {
		return []string{"yes", "no"}
	}
	return choicesOf(f.schema)
}

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
		out = append(out, "default "+valueText(value, maxItem))
	} else if !f.required {
		out = append(out, "may stay empty")
	}
	text, _ := f.schema["description"].(string)
	if len(out) > 0 {
		text += "  (" + strings.Join(out, "; ") + ")"
	}
	return strings.TrimLeft(text, " ")
}

// read takes what was typed for an answer; problem says why it is none.
func (f *askedValue) read(text string) (answer, problem string) {
	choices := f.choices()
	if len(choices) == 0 {
		return f.asJSON(text), ""
	}
	answer, problem = chosen(text, choices)
	if f.takes("boolean") {
		switch answer {
		case "yes":
			answer = "true"
		case "no":
			answer = "false"
		}
	}
	return answer, problem
}

// asJSON is an answer that need not be text as JSON; what is no YAML stays as it is
// and is refused where answers are checked.
func (f *askedValue) asJSON(text string) string {
	if f.text() && f.schema["properties"] == nil {
		return text
	}
	value, err := decodeYAML([]byte(text))
	if err != nil {
		return text
	}
	out, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return string(out)
}

// value is what was typed for a field; problem says why it is none.
func (f *askedValue) value(text string) (value any, problem string) {
	if text == "" {
		return nil, "an answer is needed"
	}
	answer := text
	if len(f.choices()) > 0 || f.takes("object") || f.takes("array") {
		if answer, problem = f.read(text); problem != "" {
			return nil, problem
		}
	}
	value, err := typed(answer, f.schema)
	if err != nil {
		return nil, err.Error()
	}
	compiled, err := schema.Compile(f.schema)
	if err != nil {
		return value, "" // the answer as a whole is checked, too
	}
	if err := compiled.Check(compiled.Normalise(value)); err != nil {
		return nil, err.Error()
	}
	return value, ""
}

// choicesOf are the legal answers, when a question lists them.
func choicesOf(schema any) []string {
	document, _ := schema.(map[string]any)
	list, _ := document["enum"].([]any)
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		} else {
			out = append(out, valueText(v, maxSummaryValue))
		}
	}
	return out
}

// chosen is the choice that a line means: the choice itself, in any case, its
// number unless a choice is that number, or the only one that begins so.
func chosen(line string, choices []string) (choice, problem string) {
	line = strings.TrimSpace(line)
	if slices.Contains(choices, line) {
		return line, ""
	}
	var same, begins []string
	for _, c := range choices {
		if strings.EqualFold(c, line) {
			same = append(same, c)
		}
		if line != "" && len(c) >= len(line) && strings.EqualFold(c[:len(line)], line) {
			begins = append(begins, c)
		}
	}
	if len(same) == 1 {
		return same[0], ""
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(choices) {
		return choices[n-1], ""
	}
	switch {
	case len(begins) == 1:
		return begins[0], ""
	case len(begins) > 1:
		return "", fmt.Sprintf("%q may be %s", line, strings.Join(begins, " or "))
	}
	return "", fmt.Sprintf("%q is none of %s", line, strings.Join(choices, ", "))
}
