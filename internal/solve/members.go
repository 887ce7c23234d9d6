// What is asked about the elements of a list, and its length: an empty list has
// none.

package solve

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
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

// elementwise matches a question about each element alone, compared with constants.
var elementwise = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(any|all|none|one)\((?:state\.)?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*), # (==|!=|in) (.*)\)$`)
})

// decided is the answer to a question about the elements of a list that the values which
// they may have decide; a list that is null or empty has none.
func (s *solver) decided(t *eval.Tree) (answer, known bool) {
	if t.Op == eval.TreeBinary && t.Name == "in" && t.Args[0].Op == eval.TreeConst && t.Args[1].Op == eval.TreePath {
		items := s.problem.Domain(t.Args[1].Path, t.Args[1].Type).Items
		return false, items != nil && !slices.ContainsFunc(items, func(v any) bool { return canonical(v) == canonical(t.Args[0].Value) })
	}
	found := elementwise().FindStringSubmatch(t.Name)
	if t.Op != eval.TreeOther || found == nil {
		return false, false
	}
	items := s.problem.Domain(strings.Split(found[2], "."), eval.Any()).Items
	list, named := found[4], found[3] == "in"
	if !named {
		list = "[" + list + "]"
	}
	var constants []any
	if items == nil || json.Unmarshal([]byte(list), &constants) != nil {
		return false, false
	}
	some, every := false, true
	for _, v := range items {
		holds := slices.Contains(constants, canonical(v)) == (found[3] != "!=")
		some, every = some || holds, every && holds
	}
	switch found[1] {
	case "any", "one":
		return false, !some
	case "none":
		return true, !some
	}
	return true, every
}

// asked is a question about the elements of a list: of an empty one, whose length is
// asked for too, the answer is known.
func (s *solver) asked(t *eval.Tree) *formula {
	if answer, known := s.decided(t); known {
		return s.formula(formula{op: opConst, value: answer})
	}
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
