// The secrets of a run: those of its graph and of all its subgraphs.

package runner

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// secrets holds the values of secrets by graph and name.
type secrets map[*machine.Plan]map[string]any

// readSecrets reads the secrets of a flow. The error is an *InputError.
func (f *Flow) readSecrets(o *Options) (secrets, error) {
	out := secrets{}
	var problems []string
	for _, tree := range f.tree.All() {
		if len(tree.Graph.Secrets) == 0 {
			continue
		}
		var values map[string]any
		switch {
		case o.Secrets != nil:
			values = o.Secrets(tree.Graph)
		case f.runner.cfg.Secrets != nil:
			values = f.runner.cfg.Secrets(tree.Graph)
		case o.readsOnly && slices.ContainsFunc(tree.Graph.Secrets, func(s spec.Secret) bool { return len(s.Command) > 0 }):
			values = mask.Placeholders(tree.Graph)
		default:
			var wrong []string
			values, wrong = input.ReadSecrets(tree.Graph)
			for _, problem := range wrong {
				if !slices.Contains(problems, problem) {
					problems = append(problems, problem)
				}
			}
		}
		out[tree.Plan] = values
	}
	return out, inputError(problems)
}

// sortedValues returns all secret values in a fixed order.
func (s secrets) sortedValues() []any {
	byKey := map[string]any{}
	for plan, values := range s { //lint:ignore mapiter they are sorted
		for name, value := range values { //lint:ignore mapiter they are sorted
			key := plan.Graph.File.Name + plan.Graph.Ref() + "\x00" + name
			byKey[key] = value
		}
	}
	var out []any
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		out = append(out, byKey[key])
	}
	return out
}

// newMask returns a masker for the secrets and the defaults of secret keys.
func (f *Flow) newMask(known secrets) *mask.Masker {
	m := &mask.Masker{}
	for _, tree := range f.tree.All() {
		m.LearnDefaults(tree.Graph)
	}
	m.Hide(known.sortedValues())
	return m
}

// learnStateSecrets masks the current values of secret keys.
func (d *driver) learnStateSecrets() {
	for _, sc := range d.state.Scopes {
		if g := sc.Plan().Graph; len(mask.SecretKeys(g)) > 0 {
			d.mask.LearnState(g, sc.Values())
		}
	}
}
