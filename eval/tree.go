// The typed tree of an expression, for evaluation, explanation and analysis.

package eval

import (
	"fmt"
	"slices"
	"strconv"
)

// TreeOp says what a part of an expression is. The zero value is unset.
type TreeOp int

// The parts of an expression.
const (
	// TreeConst is a constant: Value holds nil, bool, int, float64 or string.
	TreeConst TreeOp = iota + 1
	// TreePath is a value read from the environment: Path holds its top-level
	// name and constant members; an index is written "[0]".
	TreePath
	// TreeList is a list of Args.
	TreeList
	// TreeUnary is an operator, Name ("not", "-", "+"), on one argument.
	TreeUnary
	// TreeBinary is an operator, Name, on two arguments: "and", "or", "==",
	// "!=", "<", "<=", ">", ">=", "in", "startsWith", "endsWith", "contains",
	// "matches", "??", "+", "-", "*", "/", "%", "**", "..".
	TreeBinary
	// TreeChoice is a ? b : c.
	TreeChoice
	// TreeCall is a call of the function Name on Args, without predicates.
	TreeCall
	// TreeOther is any other part. Name is its text, and Args is empty.
	TreeOther
)

// Tree is one checked part of an expression. Names are resolved: a path replaces state.x and an
// alias, and the value replaces a name bound by let. Parts with equal keys have equal values in
// one environment.
type Tree struct {
	Op    TreeOp
	Name  string
	Value any
	Path  []string
	Args  []*Tree
	// Type is the static type of the value.
	Type Type
	// Over and Body belong to a TreeOther that evaluates Body for each element of
	// the list Over: the path of an element begins with "#".
	Over, Body *Tree
	// Members belong to a TreeOther that is an object whose names are all constant.
	Members map[string]*Tree

	from, to int // bytes in the source
	size     int // the number of parts including this one, at most maxTree+1
	eval     evaluator
	isLet    bool    // the part is a let
	ref      *ref    // the path that the value is read from, or nil for a computed value
	operands []*Tree // the operands that an error message names if they are null
}

// partID is the Value of a TreeOther that distinguishes parts of equal text.
type partID string

// maxTree bounds the parts of a tree, which grows because each use of a let name repeats its value.
const maxTree = 2 * maxNodes

// countParts sets the size of the tree. It turns a tree with too many parts into a single part.
func (t *Tree) countParts() {
	t.size = 1
	for _, a := range t.Args {
		t.size += a.size
	}
	for _, m := range t.Members {
		t.size += m.size
	}
	if t.Body != nil {
		t.size += t.Over.size + t.Body.size
	}
	if t.size > maxTree {
		t.size = maxTree + 1
		t.Op, t.Args, t.Members, t.Over, t.Body = TreeOther, nil, nil, nil, nil
	}
}

// Key returns the part in a canonical notation.
func (t *Tree) Key() string { return string(t.appendKey(nil)) }

func (t *Tree) appendKey(key []byte) []byte {
	switch t.Op {
	case TreeConst:
		if t.Value == nil {
			return append(key, "null"...)
		}
		return fmt.Appendf(key, "%#v", t.Value)
	case TreePath:
		key = append(append(key, '$'), t.Path[0]...)
		for _, part := range t.Path[1:] {
			key = strconv.AppendQuote(append(key, '.'), part)
		}
		return key
	case TreeOther:
		id, _ := t.Value.(partID)
		return append(append(append(key, '?'), id...), t.Name...)
	}
	key = append(append(key, t.Name...), '(')
	for i, a := range t.Args {
		if i > 0 {
			key = append(key, ',')
		}
		key = a.appendKey(key)
	}
	return append(key, ')')
}

// Each calls f for the part and all parts under it, outermost first.
func (t *Tree) Each(f func(*Tree)) {
	f(t)
	for _, a := range t.Args {
		a.Each(f)
	}
}

// EachImplied calls part for each part of a condition whose outcome follows from the outcome of the
// whole condition: both sides of a true `and`, both sides of a false `or`.
func (t *Tree) EachImplied(outcome bool, part func(t *Tree, outcome bool)) {
	switch {
	case t.Op == TreeUnary && t.Name == "not":
		t.Args[0].EachImplied(!outcome, part)
	case t.Op == TreeBinary && (t.Name == "and" && outcome || t.Name == "or" && !outcome):
		t.Args[0].EachImplied(outcome, part)
		t.Args[1].EachImplied(outcome, part)
	default:
		part(t, outcome)
	}
}

// canBe reports whether the value can be of one of the kinds.
func (t *Tree) canBe(kinds ...kind) bool { return t.Type.kind == kindAny || t.Type.kind.isOneOf(kinds) }

// requireKinds panics with an error unless the value can be of one of the kinds. The message
// begins with rule, such as "upper needs a string".
func (t *Tree) requireKinds(rule string, kinds ...kind) {
	if !t.canBe(kinds...) {
		panic(errorAt(RuleType, t.from, t.to, "%s, this is %s", rule, t.Type.WithArticle()))
	}
}

// ref is the path in the environment that a value is read from. It is immutable.
type ref struct {
	keys      []any // names, indexes, anyElement and anyMember
	isUnnamed bool  // the source reads the value by a let name, not by the path
}

// anyElement and anyMember replace a computed index of a list and a computed key of an object
// in ref.keys.
type (
	anyElement struct{}
	anyMember  struct{}
)

// read returns the names that the path begins with.
func (r *ref) read() Read {
	var out Read
	for _, key := range r.keys {
		name, isName := key.(string)
		if !isName {
			out.Dynamic = key == anyMember{}
			break
		}
		out.Path = append(out.Path, name)
	}
	return out
}

// path returns the names and indexes of a constant path that the source spells out, or nil.
func (r *ref) path() []any {
	if r == nil || r.isUnnamed || slices.ContainsFunc(r.keys, func(k any) bool { return k == anyElement{} || k == anyMember{} }) {
		return nil
	}
	return r.keys
}

// withoutName returns the ref of a value that the source reads by a let name instead of its path.
func (r *ref) withoutName() *ref {
	if r == nil {
		return nil
	}
	return &ref{r.keys, true}
}

// element returns the path of the elements of a list.
func (r *ref) element() *ref { return &ref{append(slices.Clip(r.keys), anyElement{}), r.isUnnamed} }

// member returns the path of base[key], or nil.
func (r *ref) member(base, key *Tree) *ref {
	switch {
	case r == nil:
		return nil
	case key.Op == TreeConst && (key.Type.kind == kindString || key.Type.kind == kindInt):
		return &ref{append(slices.Clip(r.keys), key.Value), r.isUnnamed}
	case base.Type.kind == kindList || key.Type.isNumber():
		return r.element()
	}
	return &ref{append(slices.Clip(r.keys), anyMember{}), r.isUnnamed}
}
