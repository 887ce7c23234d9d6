// What follows from how a condition comes out.

package eval

// Implied calls part for each part of a condition that comes out in a known way when the whole
// comes out so, and with how it does: the sides of `and` where it holds, those of `or` where
// it does not.
func (t *Tree) Implied(outcome bool, part func(t *Tree, outcome bool)) {
	switch {
	case t.Op == TreeUnary && t.Name == "not":
		t.Args[0].Implied(!outcome, part)
	case t.Op == TreeBinary && (t.Name == "and" && outcome || t.Name == "or" && !outcome):
		t.Args[0].Implied(outcome, part)
		t.Args[1].Implied(outcome, part)
	default:
		part(t, outcome)
	}
}
