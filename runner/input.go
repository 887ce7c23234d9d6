// The input of a run, checked against the declared state.

package runner

import (
	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/spec"
)

// checkInput returns the input as canonical data; has are keys that have a value
// without it. The error is an *InputError that names every key at fault.
func checkInput(g *spec.Graph, given, has map[string]any) (map[string]any, error) {
	if has == nil {
		has = map[string]any{}
	}
	values, wrong := input.Check(g, given, has)
	return values, inputError(wrong)
}

// inputError is an *InputError, or nil without problems.
func inputError(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return &InputError{Problems: problems}
}
