// What the checker knows of a part of an expression, and of the path it is read from.

package eval

import "github.com/expr-lang/expr/ast"

// operand is a checked and lowered part of an expression.
type operand struct {
	node     ast.Node
	typ      Type
	from, to int // bytes in the source
	// bound is a limit on the size of any integer inside the value, by which
	// additions are proven not to overflow.
	bound float64
	// ref is what the value is read from, nil for a computed value.
	ref *ref
}

// ref is a path of the environment. It is shared and never changed.
type ref struct {
	path    []string
	stopped bool // members are no longer followed
	dynamic bool
	keys    []any // the full path with constant indexes, nil if not constant
	tree    *Tree // of a top-level name, when it has been asked for
}

// nameTable holds the paths of top-level names.
type nameTable map[string]*ref

func (t nameTable) ref(name string) *ref {
	r := t[name]
	if r == nil {
		r = &ref{path: []string{name}, keys: []any{name}}
		t[name] = r
	}
	return r
}

// constant is the full path of names and indexes, nil if there is none.
func (r *ref) constant() []any {
	if r == nil {
		return nil
	}
	return r.keys
}

func (o *operand) isPath() bool { return o.ref != nil }

// unkeyed is a value that stands under a name of its own: what it reads counts,
// its path is not written there.
func (r *ref) unkeyed() *ref {
	if r == nil || r.keys == nil {
		return r
	}
	out := *r
	out.keys = nil
	return &out
}

// may reports whether the value can be of that kind, as far as types tell.
func (o *operand) may(kinds ...kind) bool {
	if o.typ.kind == kindAny {
		return true
	}
	for _, k := range kinds {
		if o.typ.kind == k || k == kindFloat && o.typ.kind == kindInt {
			return true
		}
	}
	return false
}

// isNumber reports whether the value is known to be a number (or null).
func (o *operand) isNumber() bool { return o.typ.isNumber() }

// isLiteral reports whether the value is a scalar written in the source.
func (o *operand) isLiteral() bool {
	switch o.node.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.BoolNode, *ast.NilNode:
		return true
	}
	return false
}

// member is the path of base[key], nil when base has none.
func (r *ref) member(base, key *operand) *ref {
	if r == nil {
		return nil
	}
	out := &ref{path: r.path, stopped: r.stopped, dynamic: r.dynamic}
	switch k := key.node.(type) {
	case *ast.StringNode:
		if !r.stopped {
			out.path = extended(r.path, k.Value)
		}
		if r.keys != nil {
			out.keys = extended[any](r.keys, k.Value)
		}
	case *ast.IntegerNode:
		if r.keys != nil {
			out.keys = extended[any](r.keys, k.Value)
		}
		out.stopped = true
	default:
		out.dynamic = r.dynamic || !r.stopped && base.typ.kind != kindList && !key.isNumber()
		out.stopped = true
	}
	return out
}

// extended is a list with one more at its end, and leaves the list as it is.
func extended[T any](list []T, more T) []T {
	out := make([]T, len(list)+1)
	copy(out, list)
	out[len(list)] = more
	return out
}
