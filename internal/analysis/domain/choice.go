// x

package domain

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/solve"
)

// OfChoice is the domain of an expression that chooses between constants.
func OfChoice(p *eval.Program) (solve.Domain, bool) {
	if p == nil {
		return solve.Domain{}, false
	}
	var values []any
	var collect func(t *eval.Tree) bool
	collect = func(t *eval.Tree) bool {
		switch t.Op {
		case eval.TreeConst:
			values = append(values, t.Value)
			return true
		case eval.TreeChoice:
			return collect(t.Args[1]) && collect(t.Args[2])
		}
		return false
	}
	if !collect(p.Tree()) {
		return solve.Domain{}, false
	}
	return OfValues(values)
}

// OfValues are a domain of scalars; not ok when there is none or another value.
func OfValues(values []any) (solve.Domain, bool) {
	if slices.ContainsFunc(values, func(v any) bool {
		switch v.(type) {
		case nil, bool, int, float64, string:
			return false
		}
		return true
	}) {
		return solve.Domain{}, false
	}
	return solve.Domain{Values: values}, len(values) > 0
}
