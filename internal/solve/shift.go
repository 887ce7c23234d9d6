// Whole numbers that are added before a comparison.

package solve

import "github.com/graphrun/graphrun/eval"

// maxShift bounds the numbers that are moved to the other side: nothing is rounded.
const maxShift = 1 << 40

// shifted moves the constants that are added to a whole number to the side of the
// constant that it is compared with: a + 1 > 3 is a > 2. ok is false when there is
// nothing to move.
func (s *solver) shifted(left, right *eval.Tree) (l, r *eval.Tree, ok bool) {
	if path, sum, ok := s.sum(left); ok && path != left {
		if c, ok := wholeConstant(right); ok {
			return path, &eval.Tree{Op: eval.TreeConst, Value: c - sum}, true
		}
	}
	if path, sum, ok := s.sum(right); ok && path != right {
		if c, ok := wholeConstant(left); ok {
			return &eval.Tree{Op: eval.TreeConst, Value: c - sum}, path, true
		}
	}
	return nil, nil, false
}

// sum takes a path of a whole number and the constants that are added to it apart.
func (s *solver) sum(t *eval.Tree) (path *eval.Tree, sum int, ok bool) {
	switch {
	case t.Op == eval.TreePath:
		d := s.problem.Domain(t.Path, t.Type)
		return t, 0, d.Kind == Int && !d.Null
	case t.Op != eval.TreeBinary || t.Name != "+" && t.Name != "-":
		return nil, 0, false
	}
	if c, is := wholeConstant(t.Args[1]); is {
		if t.Name == "-" {
			c = -c
		}
		path, sum, ok = s.sum(t.Args[0])
		return path, sum + c, ok && sum+c < maxShift && sum+c > -maxShift
	}
	if c, is := wholeConstant(t.Args[0]); is && t.Name == "+" {
		path, sum, ok = s.sum(t.Args[1])
		return path, sum + c, ok && sum+c < maxShift && sum+c > -maxShift
	}
	return nil, 0, false
}

func wholeConstant(t *eval.Tree) (int, bool) {
	n, ok := t.Value.(int)
	return n, ok && t.Op == eval.TreeConst && n < maxShift && n > -maxShift
}
