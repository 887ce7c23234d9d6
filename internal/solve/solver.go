// The variables and formulas of one decision, and the memory that they stand in.

package solve

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

type solver struct {
	problem Problem
	conds   []*formula
	uses    [][]int // the variables of each condition, sorted
	sizes   []int   // the formulas of each condition
	vars    []variable
	index   map[string]int // variables by key, once there are more than few
	spare   map[string]int // the index of decisions before
	meter   *Solver        // counts all steps
	// measured are the lists whose length conditions ask for, by their paths.
	measured map[string]*eval.Tree

	// Formulas are many and small: they stand in blocks, which the next decision
	// uses again.
	blocks   [][]formula
	formulas int
}

// few is up to how many variables one is looked for in the list.
const few = 8

// block is how many formulas stand in a block.
const block = 16

// building is how many steps a formula is, evaluating it being one.
const building = 4

// reset makes room for another decision.
func (s *solver) reset(p Problem) {
	s.problem = p
	s.conds, s.uses, s.sizes, s.vars = s.conds[:0], s.uses[:0], s.sizes[:0], s.vars[:0]
	s.index, s.formulas, s.measured = nil, 0, nil
}

// formula keeps a formula.
func (s *solver) formula(f formula) *formula {
	s.meter.Spent += building
	at, i := s.formulas/block, s.formulas%block
	if at == len(s.blocks) {
		s.blocks = append(s.blocks, make([]formula, block))
	}
	s.formulas++
	s.blocks[at][i] = f
	return &s.blocks[at][i]
}

// take adds a condition.
func (s *solver) take(t *eval.Tree) {
	before := s.formulas
	f := s.condition(t)
	s.conds, s.sizes = append(s.conds, f), append(s.sizes, s.formulas-before)
	var vars []int
	if n := len(s.uses); n < cap(s.uses) {
		vars = s.uses[:n+1][n][:0]
	}
	s.uses = append(s.uses, unique(f.variables(vars)))
}

// variables adds those of the formula, in any order.
func (f *formula) variables(out []int) []int {
	switch f.op {
	case opVar:
		return append(out, f.v)
	case opCompare, opText:
		if f.v >= 0 {
			out = append(out, f.v)
		}
	}
	for _, sub := range [...]*formula{f.a, f.b, f.c} {
		if sub != nil {
			out = sub.variables(out)
		}
	}
	return out
}

// variableOf finds or makes the variable of that key.
func (s *solver) variableOf(key string, domain Domain) int {
	if s.index != nil {
		if i, ok := s.index[key]; ok {
			return i
		}
	} else if i := slices.IndexFunc(s.vars, func(v variable) bool { return v.path == nil && v.key == key }); i >= 0 {
		return i
	}
	return s.add(variable{key: key, domain: domain})
}

// add makes a variable.
func (s *solver) add(v variable) int {
	if n := len(s.vars); n < cap(s.vars) {
		old := &s.vars[:n+1][n]
		v.numbers, v.texts, v.prefixes, v.values, v.parts = old.numbers[:0], old.texts[:0], old.prefixes[:0], old.values[:0], old.parts[:0]
	}
	s.vars = append(s.vars, v)
	switch n := len(s.vars); {
	case n > few && s.index == nil:
		if s.spare == nil {
			s.spare = make(map[string]int, 4*few)
		}
		clear(s.spare)
		s.index = s.spare
		for i := range s.vars {
			s.index[s.vars[i].name()] = i
		}
	case n > few:
		s.index[v.name()] = n - 1
	}
	return len(s.vars) - 1
}

// free is a formula that may be true or false whatever else holds.
func (s *solver) free(t *eval.Tree) *formula {
	return s.variable(s.variableOf("free "+t.Key(), Domain{Kind: Bool}))
}

func (s *solver) variable(v int) *formula { return s.formula(formula{op: opVar, v: v}) }

// path is the variable of a path.
func (s *solver) path(t *eval.Tree) *formula {
	i := -1
	if s.index == nil {
		for k := range s.vars {
			if s.vars[k].path != nil && slices.Equal(s.vars[k].path, t.Path) {
				i = k
			}
		}
	} else if known, ok := s.index[pathKey(t.Path)]; ok {
		i = known
	}
	if i < 0 {
		i = s.add(variable{path: t.Path, typ: t.Type, domain: s.problem.Domain(t.Path, t.Type)})
	}
	return s.variable(i)
}

// pathKey is the key of a variable for a path; no other key begins like it.
func pathKey(path []string) string { return "$" + strings.Join(path, "\x00") }
