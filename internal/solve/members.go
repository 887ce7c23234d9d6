// What is asked about the elements of a list, and its length: an empty list has
// none.

package solve

import (
	"regexp"
	"sync"

	"github.com/graphrun/graphrun/eval"
)

// measure notes the lists whose length a condition asks for.
func (s *solver) measure(t *eval.Tree) {
	t.Each(func(part *eval.Tree) {
		if part.Op != eval.TreeCall || part.Name != "len" || len(part.Args) != 1 || part.Args[0].Op != eval.TreePath {
			return
		}
		if s.measured == nil {
			s.measured = map[string]*eval.Tree{}
		}
		s.measured[PathName(part.Args[0].Path)] = part
	})
}

// predicate matches a question about the elements of a list that has a name.
var predicate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(any|all|none|one)\(((?:state\.)?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)), `)
})

// asked is a question about the elements of a list: of an empty one, whose length is
// asked for too, the answer is known.
func (s *solver) asked(t *eval.Tree) *formula {
	free := s.free(t)
	if s.measured == nil {
		return free
	}
	list, empty := "", false
	if t.Op == eval.TreeBinary && t.Name == "in" && t.Args[1].Op == eval.TreePath {
		list = PathName(t.Args[1].Path)
	} else if found := predicate().FindStringSubmatch(t.Name); t.Op == eval.TreeOther && found != nil {
		list, empty = found[3], found[1] == "all" || found[1] == "none"
	}
	length := s.measured[list]
	if length == nil {
		return free
	}
	size := s.term(length)
	s.vars[size.v].numbers = append(s.vars[size.v].numbers, 0)
	zero := s.formula(formula{op: opConst, value: 0.})
	if empty {
		none := s.formula(formula{op: opCompare, name: "==", a: size, b: zero, v: -1})
		return s.formula(formula{op: opOr, a: none, b: free})
	}
	some := s.formula(formula{op: opCompare, name: "!=", a: size, b: zero, v: -1})
	return s.formula(formula{op: opAnd, a: some, b: free})
}

// counted matches the number of a list's elements that a predicate holds of.
var counted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^count\((?:state\.)?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*), `)
})

// count is how many elements of a list a predicate holds of: no more than there are,
// where the length is asked for too.
func (s *solver) count(t *eval.Tree) *formula {
	found := s.variable(s.variableOf(t.Key(), Domain{Kind: Int, HasMin: true}))
	match := counted().FindStringSubmatch(t.Name)
	if s.measured == nil || match == nil || s.measured[match[1]] == nil {
		return found
	}
	size := s.term(s.measured[match[1]])
	fewer := s.formula(formula{op: opCompare, name: "<", a: size, b: found, v: -1})
	return s.formula(formula{op: opChoice, a: fewer, b: size, c: found})
}
