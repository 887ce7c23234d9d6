// The input of a run, checked against the declared state.

package runner

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/redact"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// CheckInput says what is wrong with the input of a run; the error is an *InputError
// that names every key at fault.
func CheckInput(g *spec.Graph, input map[string]any) error {
	_, err := checkInput(g, input, nil)
	return err
}

// checkInput returns the input as canonical data; has are keys that have a value
// without it. The error is an *InputError that names every key at fault.
func checkInput(g *spec.Graph, input, has map[string]any) (map[string]any, error) {
	if has == nil {
		has = map[string]any{}
	}
	return checkKeys(g, input, has)
}

// checkKeys checks values for state keys, and that those are there that are
// required and not in has; nil: none has to be.
func checkKeys(g *spec.Graph, input, has map[string]any) (map[string]any, error) {
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
				problems[name] = unknownKey(g, name)
			}
			out[name] = value
			continue
		}
		compiled, err := schema.Compile(key.Schema)
		if err != nil {
			problems[name] = "its schema is broken: " + err.Error()
			continue
		}
		value = compiled.Normalise(value)
		if err := compiled.Check(value); err != nil && key.Secret {
			problems[name] = "the value, which is secret and not shown, does not fit; its schema is " + compiled.String()
		} else if err != nil {
			problems[name] = err.Error() + "; its schema is " + compiled.String()
		}
		out[name] = value
	}
	for _, key := range g.State {
		name := key.Name.Value
		_, given := input[name]
		if _, there := has[name]; has != nil && key.Required && !given && !there {
			problems[name] = "required, but not given; its schema is " + schemaText(key.Schema)
		}
	}
	if len(problems) == 0 {
		return out, nil
	}
	failed := &InputError{}
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		failed.Problems = append(failed.Problems, "input "+strconv.Quote(name)+": "+problems[name])
	}
	return nil, failed
}

func schemaText(doc map[string]any) string {
	compiled, err := schema.Compile(doc)
	if err != nil {
		return "broken"
	}
	return compiled.String()
}

func unknownKey(g *spec.Graph, name string) string {
	names := make([]string, len(g.State))
	for i, key := range g.State {
		names[i] = key.Name.Value
	}
	slices.Sort(names)
	text := "no such state key"
	if near := suggest.Closest(name, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	} else if len(names) > 0 {
		text += "; declared: " + strings.Join(names, ", ")
	}
	return text
}

// checkSecretInput refuses texts for secret keys, and keys of providers that the
// file holds, that are too short to be masked.
func checkSecretInput(g *spec.Graph, input map[string]any) error {
	failed := &InputError{}
	for _, key := range g.State {
		if text, ok := input[key.Name.Value].(string); ok && key.Secret {
			if refusal := redact.Refusal(text); refusal != "" {
				failed.Problems = append(failed.Problems, fmt.Sprintf("input %q: it is secret, and the text %s", key.Name.Value, refusal))
			}
		}
	}
	for _, p := range g.Providers {
		declared, _ := p.Value.Data().(map[string]any)
		text, ok := declared["api_key"].(string)
		if refusal := redact.Refusal(text); ok && refusal != "" {
			failed.Problems = append(failed.Problems, fmt.Sprintf("provider %q: its api_key %s", p.Key.Value, refusal))
		}
	}
	if len(failed.Problems) == 0 {
		return nil
	}
	slices.Sort(failed.Problems)
	return failed
}

// secretsOf are the values of a graph's secrets, by name.
func (r *Runner) secretsOf(o *Options, g *spec.Graph) (map[string]any, error) {
	switch {
	case o.Secrets != nil:
		return o.Secrets(g), nil
	case r.cfg.Secrets != nil:
		return r.cfg.Secrets(g), nil
	}
	return ReadSecrets(g)
}

// ReadSecrets reads the graph's secrets, by name, from the environment and files. The
// error is an *InputError.
func ReadSecrets(g *spec.Graph) (map[string]any, error) {
	out := make(map[string]any, len(g.Secrets))
	failed := &InputError{}
	for _, secret := range g.Secrets {
		name := secret.Name.Value
		if secret.Env.IsSet() {
			value, ok := os.LookupEnv(secret.Env.Value)
			if !ok {
				failed.Problems = append(failed.Problems,
					fmt.Sprintf("secret %q: environment variable %s is not set", name, secret.Env.Value))
			} else if refusal := redact.Refusal(value); refusal != "" {
				failed.Problems = append(failed.Problems, fmt.Sprintf("secret %q: environment variable %s %s", name, secret.Env.Value, refusal))
			}
			out[name] = value
			continue
		}
		text, err := bounded.ReadFile(secret.File.Value, bounded.Text)
		value := strings.TrimRight(string(text), "\r\n")
		if err != nil {
			failed.Problems = append(failed.Problems, fmt.Sprintf("secret %q: %v", name, err))
		} else if refusal := redact.Refusal(value); refusal != "" {
			failed.Problems = append(failed.Problems, fmt.Sprintf("secret %q: what file %s holds %s", name, secret.File.Value, refusal))
		}
		out[name] = value
	}
	if len(failed.Problems) > 0 {
		slices.Sort(failed.Problems)
		return nil, failed
	}
	return out, nil
}
