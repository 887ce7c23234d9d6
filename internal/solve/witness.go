// Values with which no condition holds, evaluated and not only thought.

package solve

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// Bounds on the search for a gap.
const (
	maxCandidates = 2_000 // combinations that are thought about
	maxTrials     = 400   // combinations that are evaluated
	maxTurns      = 64    // values of a variable that are all tried in a big decision
)

// gap looks for usual values with which every condition is false.
func (s *solver) gap() ([]Binding, bool) {
	if len(s.conds) == 0 {
		return nil, false
	}
	vars := s.variables()
	extra := s.unread()
	if found, ok := s.search(vars, vars, extra); ok {
		return found, true
	}
	// Of a variable with many constants the last value equals none of them.
	var few []int
	for _, v := range vars {
		if s.vars[v].natural <= maxTurns {
			few = append(few, v)
		}
	}
	if len(few) == len(vars) {
		return nil, false
	}
	return s.search(vars, few, extra)
}

// search tries the usual values of the variables in turn, and of the others
// the last.
func (s *solver) search(vars, turn []int, extra []sample) ([]Binding, bool) {
	at := make([]int, len(s.vars))
	for _, v := range vars {
		if !slices.Contains(turn, v) {
			at[v] = s.vars[v].natural - 1
		}
	}
	trials := 0
	for range maxCandidates {
		if !s.meter.affords(1) {
			return nil, false
		}
		if s.allFalse(at) {
			if found, ok := s.try(vars, at, extra, &trials); ok {
				return found, true
			}
			if trials >= maxTrials {
				return nil, false
			}
		}
		if !s.advance(turn, at, true) {
			return nil, false
		}
	}
	return nil, false
}

func (s *solver) allFalse(at []int) bool {
	for _, c := range s.conds {
		if s.eval(c, at) != false {
			return false
		}
	}
	return true
}

// sample is a path that only parts read that are not understood, with values
// to try.
type sample struct {
	path   []string
	values []any
}

// unread are the paths that no variable stands for.
func (s *solver) unread() []sample {
	have := map[string]bool{}
	for i := range s.vars {
		if s.vars[i].path != nil {
			have[PathName(s.vars[i].path)] = true
		}
	}
	var out []sample
	var h *hints
	for _, p := range s.problem.Conditions {
		for _, r := range p.Reads() {
			name := PathName(r.Path)
			if have[name] {
				continue
			}
			have[name] = true
			if h == nil {
				h = s.hint()
			}
			out = append(out, sample{r.Path, h.samples(s.problem.Domain(r.Path, eval.Any()))})
		}
	}
	return out
}

// try evaluates the conditions with the values at hand and every combination
// of the samples.
func (s *solver) try(vars, at []int, extra []sample, trials *int) ([]Binding, bool) {
	var base []Binding
	for _, v := range vars {
		if path := s.vars[v].path; path != nil {
			base = append(base, Binding{path, plain(s.vars[v].values[at[v]])})
		}
	}
	choice := make([]int, len(extra))
	for *trials < maxTrials {
		*trials++
		found := slices.Clip(base)
		for i, e := range extra {
			if len(e.values) == 0 {
				return nil, false
			}
			found = append(found, Binding{e.path, plain(e.values[choice[i]])})
		}
		if s.confirm(found) {
			return found, true
		}
		i := len(extra) - 1
		for ; i >= 0; i-- {
			if choice[i]++; choice[i] < len(extra[i].values) {
				break
			}
			choice[i] = 0
		}
		if i < 0 {
			return nil, false
		}
	}
	return nil, false
}

// plain is a value as the environment holds it: whole numbers are int.
func plain(v any) any {
	switch v := v.(type) {
	case vague:
		return string(v)
	case other:
		return []any{}
	case float64:
		if n := int(v); float64(n) == v {
			return n
		}
	}
	return v
}

// confirm evaluates every condition to false.
func (s *solver) confirm(values []Binding) bool {
	env := map[string]any{}
	for _, b := range values {
		if s.problem.Valid != nil && !s.problem.Valid(b.Path, b.Value) {
			return false
		}
		if !place(env, b.Path, b.Value) {
			return false
		}
	}
	const weight = 10 // of an evaluation on actual values
	s.meter.Spent += weight*len(s.problem.Conditions) + s.formulas
	var vm eval.VM
	for _, c := range s.problem.Conditions {
		if holds, err := vm.Test(c, env); err != nil || holds {
			return false
		}
	}
	return true
}

// place puts a value into the environment; false when another value is in its way.
func place(env map[string]any, path []string, value any) bool {
	for i, part := range path[:len(path)-1] {
		if strings.HasPrefix(path[i+1], "[") {
			return placeItem(env, path[i:], value)
		}
		switch next := env[part].(type) {
		case map[string]any:
			env = next
		case nil:
			fresh := map[string]any{}
			env[part] = fresh
			env = fresh
		default:
			return false
		}
	}
	last := path[len(path)-1]
	if _, taken := env[last]; taken {
		return false
	}
	env[last] = value
	return true
}

// placeItem puts a value into a list, at the end of a path.
func placeItem(env map[string]any, path []string, value any) bool {
	index, err := strconv.Atoi(strings.Trim(path[1], "[]"))
	if err != nil || index > 8 || env[path[0]] != nil {
		return false
	}
	list := make([]any, index+1)
	if len(path) == 2 {
		list[index] = value
	} else {
		item := map[string]any{}
		if !place(item, path[2:], value) {
			return false
		}
		list[index] = item
	}
	env[path[0]] = list
	return true
}
