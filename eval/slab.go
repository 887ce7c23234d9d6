// Room for many small things at once.

package eval

import "github.com/expr-lang/expr/ast"

// slab hands out zero values. It makes twice as many each time, up to 32.
type slab[T any] struct {
	free []T
	made int
}

func (s *slab[T]) take() *T {
	if len(s.free) == 0 {
		s.made = min(max(2*s.made, 1), 32)
		s.free = make([]T, s.made)
	}
	out := &s.free[0]
	s.free = s.free[1:]
	return out
}

// pool hands out zero values that are all given back at once.
type pool[T any] struct {
	all  []*T
	used int
}

func (p *pool[T]) take() *T {
	if p.used == len(p.all) {
		p.all = append(p.all, new(T))
	}
	out := p.all[p.used]
	var zero T
	*out = zero
	p.used++
	return out
}

// plainNodes are the nodes of plain expressions, for one tree at a time.
type plainNodes struct {
	names    pool[ast.IdentifierNode]
	texts    pool[ast.StringNode]
	integers pool[ast.IntegerNode]
	members  pool[ast.MemberNode]
	binary   pool[ast.BinaryNode]
	unary    pool[ast.UnaryNode]
	choices  pool[ast.ConditionalNode]
	arrays   pool[ast.ArrayNode]
}

func (n *plainNodes) rewind() {
	n.names.used, n.texts.used, n.integers.used, n.members.used = 0, 0, 0, 0
	n.binary.used, n.unary.used, n.choices.used, n.arrays.used = 0, 0, 0, 0
}
