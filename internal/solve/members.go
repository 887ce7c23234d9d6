// What is asked about the elements of a list, and its length: an empty list has
// none.

package solve

import (
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

// decided is the answer to a question about the elements of a list that the values which
// they may have decide; a list that is null or empty has none.
func (s *solver) decided(t *eval.Tree) (answer, known bool) {
	if t.Op == eval.TreeBinary && t.Name == "in" && t.Args[0].Op == eval.TreeConst && t.Args[1].Op == eval.TreePath {
		items := s.items(t.Args[1]).Values
		return false, items != nil && !slices.ContainsFunc(items, func(v any) bool { return canonical(v) == canonical(t.Args[0].Value) })
	}
	some, every, ok := s.among(t)
	switch name, _, _ := strings.Cut(t.Name, "("); {
	case !ok:
	case name == "any" && !some, name == "one" && !some:
		return false, true
	case name == "none" && !some, name == "all" && every:
		return true, true
	}
	return false, false
}

// among reports whether what a question asks of each element holds of some of the values
// that they may have, and of every one; not ok when that is not known.
func (s *solver) among(t *eval.Tree) (some, every, ok bool) {
	if t.Over == nil || t.Over.Op != eval.TreePath {
		return false, false, false
	}
	values, ok := s.elements(t)
	every = true
	for _, v := range values {
		holds, known := Partial(t.Body, func([]string) (any, bool) { return v, true })
		some, every, ok = some || holds == true, every && holds == true, ok && known
	}
	return some, every, ok
}

// elements are the values that the one thing may have which a question reads of each
// element; not ok when they are not known, or more is read.
func (s *solver) elements(t *eval.Tree) (values []any, ok bool) {
	var path []string
	plain := true
	t.Body.Each(func(part *eval.Tree) {
		switch {
		case part.Op == eval.TreePath && (path == nil || slices.Equal(path, part.Path)):
			path = part.Path
		case part.Op == eval.TreePath, part.Op == eval.TreeOther:
			plain = false
		}
	})
	if !plain || path == nil || path[0] != "#" {
		return nil, false
	}
	values = s.items(t.Over, path[1:]...).Values
	if len(path) > 1 && values != nil { // an element may be without it
		values = append(slices.Clip(values), nil)
	}
	return values, values != nil
}

// items is what is known of the elements of a list, or of a member of each.
func (s *solver) items(list *eval.Tree, member ...string) Domain {
	return s.problem.Domain(slices.Concat(list.Path, []string{"[0]"}, member), eval.Any())
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
	if some, _, ok := s.among(t); ok && !some {
		return s.formula(formula{op: opConst, value: 0.})
	}
	found := s.variable(s.variableOf(t.Key(), Domain{Kind: Int, HasMin: true}))
	match := counted().FindStringSubmatch(t.Name)
	if s.measured == nil || match == nil || s.measured[match[1]] == nil {
		return found
	}
	size := s.term(s.measured[match[1]])
	fewer := s.formula(formula{op: opCompare, name: "<", a: size, b: found, v: -1})
	return s.formula(formula{op: opChoice, a: fewer, b: size, c: found})
}
