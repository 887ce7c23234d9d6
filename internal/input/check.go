// Package input reads and checks the values that people give a run: inputs, answers and secrets. A
// problem is one sentence that names the key.
package input

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/redact"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// Check returns values of state keys as canonical data, and problems sorted by key. Required
// keys that are not in has must be given, unless has is nil.
func Check(g *spec.Graph, input, has map[string]any) (values map[string]any, wrong []string) {
	out := make(map[string]any, len(input))
	problems := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(input)) {
		value, err := eval.Canonical(input[name])
		if err != nil {
			problems[name] = err.Error()
			continue
		}
		key := g.Key(name)
		if key == nil {
			if g.StrictState {
				problems[name] = describeUnknownKey(g, name)
			}
			out[name] = value
			continue
		}
		compiled, err := schema.Compile(key.Schema)
		if err == nil {
			out[name], err = compiled.Accept(value)
		}
		if err != nil {
			problem := err.Error()
			if key.Secret {
				problem = "the value, which is secret and not shown, does not fit"
			}
			problems[name] = problem + "; its schema is " + SchemaText(key.Schema)
		}
	}
	for _, key := range g.State {
		name := key.Name.Value
		_, given := input[name]
		if _, there := has[name]; has != nil && key.Required && !given && !there {
			problems[name] = "required, but not given; its schema is " + SchemaText(key.Schema)
		}
	}
	if len(problems) == 0 {
		return out, nil
	}
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		wrong = append(wrong, "input "+strconv.Quote(name)+": "+problems[name])
	}
	return nil, wrong
}

// SchemaText returns a schema in one line.
func SchemaText(doc map[string]any) string {
	compiled, err := schema.Compile(doc)
	if err != nil {
		return "broken"
	}
	return compiled.String()
}

func describeUnknownKey(g *spec.Graph, name string) string {
	names := make([]string, len(g.State))
	for i, key := range g.State {
		names[i] = key.Name.Value
	}
	slices.Sort(names)
	hint := suggest.DidYouMean(name, names)
	if hint == "" && len(names) > 0 {
		hint = "; declared: " + strings.Join(names, ", ")
	}
	return "no such state key" + hint
}

// CheckSecret refuses values of secret keys and provider keys that are too short to mask.
func CheckSecret(g *spec.Graph, input map[string]any) (wrong []string) {
	for _, key := range g.State {
		if text, ok := input[key.Name.Value].(string); ok && key.Secret {
			if refusal := redact.Refusal(text); refusal != "" {
				wrong = append(wrong, fmt.Sprintf("input %q: it is secret, and the text %s", key.Name.Value, refusal))
			}
		}
	}
	for _, p := range g.Providers {
		declared, _ := p.Value.Data().(map[string]any)
		text, ok := declared["api_key"].(string)
		if refusal := redact.Refusal(text); ok && refusal != "" {
			wrong = append(wrong, fmt.Sprintf("provider %q: its api_key %s", p.Key.Value, refusal))
		}
	}
	slices.Sort(wrong)
	return wrong
}
