// What follows from how a condition comes out.

package eval

import "slices"

// sides are those of a condition that is made of others; nil for another. Each reports its
// outcome, given that of the whole, and both whether all of them come out so.
func (t *Tree) sides(outcome bool) (parts []*Tree, same, both bool) {
	switch {
	case t.Op == TreeUnary && t.Name == "not":
		return t.Args, !outcome, true
	case t.Op == TreeBinary && (t.Name == "and" || t.Name == "or"):
		return t.Args, outcome, (t.Name == "and") == outcome
	}
	return nil, outcome, true
}

// Implied calls part for each part of a condition that is no condition of which all sides
// come out in a known way when the whole comes out so, and with how it does.
func (t *Tree) Implied(outcome bool, part func(t *Tree, outcome bool)) {
	sides, same, both := t.sides(outcome)
	if len(sides) == 0 || !both {
		part(t, outcome)
		return
	}
	for _, side := range sides {
		side.Implied(same, part)
	}
}

// Entails reports whether something holds when a condition comes out so, of which part
// says when it follows from a part that is no condition made of others.
func (t *Tree) Entails(outcome bool, part func(t *Tree, outcome bool) bool) bool {
	sides, same, both := t.sides(outcome)
	if len(sides) == 0 {
		return part(t, outcome)
	}
	follows := func(side *Tree) bool { return side.Entails(same, part) }
	if both {
		return slices.ContainsFunc(sides, follows)
	}
	return !slices.ContainsFunc(sides, func(side *Tree) bool { return !follows(side) })
}
